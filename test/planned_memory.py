"""Memory for planners: units that hold numbers, which tell what they are made of."""

from __future__ import annotations

from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.heuristics import Candidate, Heuristic, balanced
from mlirad.ad.budget.planner import Planner


class Memory:
    """Units that hold what they are made of, as numbers; copies, and a check of every reverse."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values = {unit: hash(("root", unit)) for unit in range(len(graph.sizes))}
        self.copies: dict[Content, int] = {}
        self.right: dict[int, list[tuple[int, int]]] = {}  # what each reverse has to find
        self.bytes = self.peak = self.launches = 0
        self.reversed: list[int] = []

    def keep(self, content: Content) -> None:
        assert content not in self.copies
        self.copies[content] = self.values[content[0]]
        self.bytes += self.graph.sizes[content[0]]
        self.peak = max(self.peak, self.bytes)

    def drop(self, content: Content) -> None:
        del self.copies[content]
        self.bytes -= self.graph.sizes[content[0]]

    def put(self, content: Content) -> None:
        self.values[content[0]] = self.copies[content]

    def exchange(self, content: Content, other: Content) -> None:
        unit = content[0]
        assert other not in self.copies and other[0] == unit
        self.copies[other], self.values[unit] = self.values[unit], self.copies.pop(content)

    def run(self, step: int) -> None:
        assert self.graph.steps[step].is_repeatable
        self.launch(step)

    def launch(self, number: int) -> None:
        """Write to each unit something that tells what was read; stores that leave some elements
        are the same when they are done twice, sums are not."""
        self.launches += 1
        step = self.graph.steps[number]
        read = tuple(self.values[unit] for unit in step.reads)
        for unit in step.writes:
            new = hash((number, unit, read))
            if unit in step.adds:
                new += self.values[unit]
            elif unit in step.blends:
                new = new // 2**20 * 2**20 + self.values[unit] % 2**20
            self.values[unit] = new

    def reverse(self, step: int) -> None:
        self.reversed.append(step)
        found = self.graph.steps[step]
        before = [(unit, self.values[unit]) for unit in found.before]
        behind = [(u, self.values[u]) for u in found.needs if u not in found.before]
        assert [*before, *behind] == self.right[step]


def run_graph(
    graph: Graph, budget: int, heuristic: str = "balanced", sweeps: int = 2
) -> tuple[Planner, Memory]:
    """Record the steps of a graph and reverse them, more than once."""
    memory = Memory(graph)
    planner = Planner(memory, lambda: budget, HEURISTICS[heuristic], units_of(graph))
    for step in graph.steps:
        before = [(unit, memory.values[unit]) for unit in step.before]
        number = planner.record(step)
        memory.launch(number)
        behind = [(u, memory.values[u]) for u in step.needs if u not in step.before]
        memory.right[number] = [*before, *behind]
    left = dict(memory.values)
    for _ in range(sweeps):
        planner.reverse()
        assert memory.values == left
        assert memory.reversed == [*reversed(range(len(graph.steps)))]
        memory.reversed.clear()
    assert memory.peak <= budget
    assert planner.room.peak == memory.peak
    return planner, memory


def units_of(graph: Graph) -> Graph:
    """A graph with the units of another, and no steps yet."""
    fresh = Graph()
    for size in graph.sizes:
        fresh.unit(size)
    return fresh


# Other heuristics of Kirisame et al.


def neighbourhood(candidate: Candidate) -> float:
    """The paper's `h_DTR`, with its neighbourhoods as disjoint sets."""
    return candidate.around / (candidate.size * candidate.age)


def local(candidate: Candidate) -> float:
    """`h_DTR_local`: what is around does not count."""
    return candidate.alone / (candidate.size * candidate.age)


def oldest(candidate: Candidate) -> float:
    """`h_LRU`."""
    return 1.0 / candidate.age


def largest(candidate: Candidate) -> float:
    """`h_size`."""
    return 1.0 / candidate.size


def cheapest(candidate: Candidate) -> float:
    """`h_MSPS`: what would run again for each byte."""
    return candidate.around / candidate.size


HEURISTICS: dict[str, Heuristic] = {
    "balanced": balanced,
    "neighbourhood": neighbourhood,
    "local": local,
    "oldest": oldest,
    "largest": largest,
    "cheapest": cheapest,
}
