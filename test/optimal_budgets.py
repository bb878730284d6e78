"""The least that small recorded programs have to run again within a budget, by a search of all ways
(Dijkstra's algorithm over what memory and copies hold). `PYTHONPATH=.. python -m optimal_budgets
FIRST COUNT`, in `test/`, compares a planner's with it on random graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from random import Random
from statistics import median

from planned_memory import run_graph

from mlirad.ad.budget.graph import ROOT, Content, Graph, Step

State = tuple[int, tuple[int, ...], frozenset[Content]]  # next, makers by unit, copies


def small_graph(seed: int) -> Graph:
    """A random program of a few launches that set what they write."""
    draw = Random(seed)
    graph = Graph()
    units = [graph.unit(draw.choice([1, 1, 2, 3])) for _ in range(draw.randint(1, 3))]
    for _ in range(draw.randint(4, 9)):
        reads = draw.sample(units, min(len(units), draw.randint(1, 2)))
        writes = draw.sample(units, min(len(units), draw.choice([1, 1, 1, 2])))
        needs = [unit for unit in reads if unit not in writes and draw.random() < 0.6]
        before = [unit for unit in reads if unit in writes and draw.random() < 0.8]
        needs += [unit for unit in writes if unit not in before and draw.random() < 0.3]
        cost = draw.choice([1.0, 1.0, 1.0, 2.0, 4.0])
        graph.add(
            Step(tuple(reads), tuple(writes), needs=tuple(needs), before=tuple(before), cost=cost)
        )
    return graph


class Search:
    """All ways to reverse a graph within a budget.

    What cannot be made again, and what the program left and something displaced, are kept to the
    end, as a tape may be reversed once more; any other copy may be made and dropped at any time.
    """

    def __init__(self, graph: Graph, budget: int) -> None:
        self.graph, self.budget = graph, budget
        self.steps = len(graph.steps)
        self.sources = frozenset(graph.sources())
        self.left = frozenset((unit, graph.last(unit)) for unit in range(len(graph.sizes)))

    @cached_property
    def useful(self) -> list[set[Content]]:
        """The contents that reverses before one, and launches for them, may use."""
        found: list[set[Content]] = []
        known: set[Content] = set()
        for number in range(self.steps):
            step = self.graph.steps[number]
            known = known | {(u, self.graph.maker(u, number)) for u in step.reads}
            found.append(known | self._needed_up_to(number))
        return found

    def _needed_up_to(self, number: int) -> set[Content]:
        return {one for n in range(number + 1) for one in self.graph.needed_contents(n)}

    def cost(self) -> float:
        """Of the launches that are repeated, at least."""
        first: dict[frozenset[Content], None] = {frozenset(): None}
        makers = tuple(ROOT for _ in self.graph.sizes)
        for number in range(self.steps):
            after = self._after(makers, number)
            first = {
                kept: None
                for copies in first
                for kept in self._kept(copies, makers, after, self.steps - 1, forward=True)
            }
            makers = after
        begin: list[State] = [(self.steps - 1, makers, copies) for copies in first]
        best = dict.fromkeys(begin, 0.0)
        order = count()
        queue = [(0.0, next(order), state) for state in begin]
        while queue:
            cost, _, state = heappop(queue)
            if cost > best[state]:
                continue
            if state[0] < 0:
                return cost
            for more, other in self._next(state):
                if cost + more < best.get(other, float("inf")):
                    best[other] = cost + more
                    heappush(queue, (cost + more, next(order), other))
        raise AssertionError("no way")

    def _after(self, makers: tuple[int, ...], number: int) -> tuple[int, ...]:
        writes = self.graph.steps[number].writes
        return tuple(number if unit in writes else maker for unit, maker in enumerate(makers))

    def _next(self, state: State) -> Iterator[tuple[float, State]]:
        number, makers, copies = state
        graph = self.graph
        if all(makers[unit] == maker for unit, maker in graph.needed_contents(number)):
            yield 0.0, (number - 1, makers, copies)
            return
        for unit, maker in copies:
            if makers[unit] != maker:
                after = (*makers[:unit], maker, *makers[unit + 1 :])
                for kept in self._kept(copies, makers, after, number):
                    yield 0.0, (number, after, kept)
        for step in range(number + 1):
            one = graph.steps[step]
            if all(makers[unit] == graph.maker(unit, step) for unit in one.reads):
                after = self._after(makers, step)
                if after != makers:
                    for kept in self._kept(copies, makers, after, number):
                        yield one.cost, (number, after, kept)

    def _kept(
        self,
        copies: frozenset[Content],
        before: tuple[int, ...],
        after: tuple[int, ...],
        number: int,
        forward: bool = False,
    ) -> Iterator[frozenset[Content]]:
        """The most that may be kept when units come to hold something else."""
        displaced = {(unit, maker) for unit, maker in enumerate(before) if after[unit] != maker}
        must = {one for one in copies | displaced if one in self.sources}
        if not forward:
            must |= {one for one in copies | displaced if one in self.left}
        may = ((copies | displaced) - must) & self.useful[number]
        room = self.budget - self._bytes(must)
        if room < 0:
            return
        for some in self._most(sorted(may), room):
            yield frozenset(must | some)

    def _bytes(self, contents: Iterable[Content]) -> int:
        return sum(self.graph.sizes[unit] for unit, _ in contents)

    def _most(self, contents: list[Content], room: int) -> list[set[Content]]:
        """The subsets that fit, and to which nothing can be added."""
        if self._bytes(contents) <= room:
            return [set(contents)]
        fitting = [
            found
            for bits in range(2 ** len(contents))
            if self._bytes(found := {c for i, c in enumerate(contents) if bits >> i & 1}) <= room
        ]
        return [one for one in fitting if not any(one < other for other in fitting)]


def compare(seed: int) -> tuple[float, float, float]:
    """For a random graph and budget: the cost of its launches, of what a planner repeats, and the
    least of what has to be repeated."""
    graph = small_graph(seed)
    least = graph.least()
    _, everything = run_graph(graph, 10**6, sweeps=1)
    budget = Random(seed).randint(least, max(least, everything.peak))
    planner, _ = run_graph(graph, budget, sweeps=1)
    found = sum(graph.steps[step].cost * times for step, times in planner.repeated.items())
    return sum(step.cost for step in graph.steps), found, Search(graph, budget).cost()


def ratios(seeds: Iterable[int]) -> tuple[list[float], list[float]]:
    """A planner's costs over the least: of all launches, and of those that are repeated, where any
    have to be. Raises AssertionError where a planner repeats less than the least."""
    every, repeated = [], []
    for seed in seeds:
        once, found, least = compare(seed)
        assert found >= least, f"graph {seed}: {found} is less than {least}"
        every.append((once + found) / (once + least))
        if least:
            repeated.append(found / least)
    return every, repeated


def main() -> int:
    """Compare."""
    first, number = (int(argument) for argument in sys.argv[1:3])
    every, repeated = ratios(range(first, first + number))
    print(
        f"{number} graphs, all launches over the least: median {median(every):.3f}, worst "
        f"{max(every):.3f}; the {len(repeated)} that have to repeat some, of these: median "
        f"{median(repeated):.3f}, worst {max(repeated):.3f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
