"""The planner of rematerialisation on random graphs, and on chains, without a kernel."""

from __future__ import annotations

import random

import pytest
from planned_memory import HEURISTICS, run_graph

from mlirad.ad.budget.graph import ROOT, Graph, Step
from mlirad.ad.budget.room import NoRoomError
from mlirad.ad.checkpoint.schedule import executions


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
            run_graph(graph, budget, heuristic)


def test_a_copy_that_is_used_for_the_last_time_makes_room_for_what_its_unit_held() -> None:
    graph = Graph()
    unit = graph.unit(1)
    for _ in range(4):  # each overwrites what its reverse needs
        graph.add(Step((unit,), (unit,), before=(unit,)))
    for room, repeated in ((4, 0), (3, 1)):  # what was there first, what is left, two copies or one
        planner, _ = run_graph(graph, room, sweeps=1)
        assert sum(planner.repeated.values()) == repeated


def test_a_budget_below_the_least_is_refused_before_the_first_reverse() -> None:
    refused = 0
    for seed in range(100):
        graph = _random_graph(seed)
        if graph.least():
            with pytest.raises(NoRoomError):
                run_graph(graph, graph.least() - 1)
            refused += 1
    assert refused > 80


def test_plans_are_the_same_whenever_they_are_made() -> None:
    for seed in range(20):
        graph = _random_graph(seed)
        first, second = (run_graph(graph, graph.least() + 4)[0] for _ in range(2))
        assert first.repeated == second.repeated


def test_with_room_for_everything_nothing_runs_again() -> None:
    for seed in range(100):
        planner, _ = run_graph(_random_graph(seed), 10**6, sweeps=1)
        assert not planner.repeated


def _chain(steps: int) -> Graph:
    graph = Graph()
    state = graph.unit(1)
    for _ in range(steps):
        graph.add(Step((state,), (state,), before=(state,)))
    return graph


@pytest.mark.parametrize(
    ("steps", "states"),
    [(100, 5), (100, 10), (100, 25), (1000, 10), (1000, 31), (1000, 100), (1000, 250)],
)
def test_repeated_launches_of_a_chain_are_hardly_more_than_a_binomial_schedule_needs(
    steps: int, states: int
) -> None:
    # `executions` counts a first sweep, and the run that each reverse follows, which is not needed
    # here; the copy of the last state is not one of its snapshots
    planner, memory = run_graph(_chain(steps), states + 1, sweeps=1)
    assert memory.launches == steps + sum(planner.repeated.values())
    assert memory.launches - steps <= 1.25 * (executions(steps, states) - 2 * steps)
    assert planner.graph.maker(0, 0) == ROOT
