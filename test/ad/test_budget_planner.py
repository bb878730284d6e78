"""The planner of rematerialisation on random graphs, and on chains, without a kernel."""

from __future__ import annotations

import random

import pytest

from mlirad.ad.budget.graph import ROOT, Content, Graph, Step
from mlirad.ad.budget.heuristics import HEURISTICS
from mlirad.ad.budget.planner import Planner
from mlirad.ad.budget.room import NoRoomError
from mlirad.ad.checkpoint.schedule import executions


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


def run(
    graph: Graph, budget: int, heuristic: str = "balanced", sweeps: int = 2
) -> tuple[Planner, Memory]:
    """Record the steps of a graph and reverse them, more than once."""
    memory = Memory(graph)
    planner = Planner(memory, lambda: budget, HEURISTICS[heuristic], _units(graph))
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


def _units(graph: Graph) -> Graph:
    fresh = Graph()
    for size in graph.sizes:
        fresh.unit(size)
    return fresh


def _random_graph(seed: int) -> Graph:
    draw = random.Random(seed)
    graph = Graph()
    units = [graph.unit(draw.choice([1, 1, 2, 8])) for _ in range(draw.randint(1, 7))]

    def some(of: list[int], most: int) -> tuple[int, ...]:
        return tuple(draw.sample(of, min(len(of), draw.randint(0, most))))

    for _ in range(draw.randint(1, 40)):
        reads, writes = some(units, 3), some(units, 3)
        adds = frozenset(u for u in writes if u not in reads and draw.random() < 0.2)
        blends = frozenset(u for u in writes if u not in adds and draw.random() < 0.2)
        before = tuple(u for u in writes if draw.random() < 0.2)
        is_repeatable = draw.random() < 0.9
        cost = draw.choice([1.0, 1.0, 5.0])
        needs = some([*reads, *writes], 3)
        graph.add(
            Step(
                reads,
                writes,
                blends,
                adds,
                tuple(dict.fromkeys(needs)),
                before,
                cost,
                is_repeatable,
            )
        )
    return graph


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_reverses_find_what_they_need_within_any_budget_that_can(heuristic: str) -> None:
    for seed in range(400 if heuristic == "balanced" else 40):
        graph = _random_graph(seed)
        least = graph.least()
        for budget in (least, least + 1 + seed % 7):
            run(graph, budget, heuristic)


def test_a_budget_below_the_least_is_refused_before_the_first_reverse() -> None:
    refused = 0
    for seed in range(100):
        graph = _random_graph(seed)
        if graph.least():
            with pytest.raises(NoRoomError):
                run(graph, graph.least() - 1)
            refused += 1
    assert refused > 80


def test_plans_are_the_same_whenever_they_are_made() -> None:
    for seed in range(20):
        graph = _random_graph(seed)
        first, second = (run(graph, graph.least() + 4)[0] for _ in range(2))
        assert first.repeated == second.repeated


def test_with_room_for_everything_nothing_runs_again() -> None:
    for seed in range(100):
        planner, _ = run(_random_graph(seed), 10**6, sweeps=1)
        assert not planner.repeated


def _chain(steps: int) -> Graph:
    graph = Graph()
    state = graph.unit(1)
    for _ in range(steps):
        graph.add(Step((state,), (state,), before=(state,)))
    return graph


@pytest.mark.parametrize(
    ("steps", "states", "bound"),
    [(100, 5, 1.25), (100, 10, 1.25), (1000, 10, 1.25), (1000, 20, 1.25), (1000, 40, 1.25)],
)
def test_launches_of_a_chain_are_hardly_more_than_those_of_a_binomial_schedule(
    steps: int, states: int, bound: float
) -> None:
    # `executions` counts the run that each reverse follows, which is not needed here, and the
    # copy of the last state is not one of its snapshots
    graph = _chain(steps)
    memory = Memory(graph)
    planner = Planner(memory, lambda: states + 1, graph=_units(graph))
    for step in graph.steps:
        number = planner.record(step)
        memory.right[number] = [(0, memory.values[0])]
        memory.launch(number)
    planner.reverse()
    assert memory.launches <= bound * (executions(steps, states) - steps)
    assert planner.graph.maker(0, 0) == ROOT
