"""Plans of programs of many launches a step, within little room: whole states are kept and made."""

from __future__ import annotations

import random

import pytest
from planned_memory import run_graph, units_of

from mlirad.ad.budget.cuts import Cuts
from mlirad.ad.budget.graph import Graph, Step
from mlirad.ad.checkpoint.schedule import executions

LAUNCHES = 8  # a step of `_fluid`


def _fluid(steps: int) -> Graph:
    """Two arrays, one of which reverses need, carried by eight launches a step through others."""
    graph = Graph()
    velocity, pressure, between, other, sources = (graph.unit(n) for n in (2, 1, 2, 1, 1))
    for _ in range(steps):
        graph.add(Step((velocity,), (between,), needs=(velocity,)))
        graph.add(Step((between,), (sources,)))
        for _ in range(2):
            graph.add(Step((pressure, sources), (other,)))
            graph.add(Step((other, sources), (pressure,)))
        graph.add(Step((pressure, sources), (other,)))
        graph.add(Step((between, other), (velocity,)))
    return graph


def _random_steps(seed: int) -> Graph:
    """Random launches, the same in each of a few dozen steps; some steps leave some out."""
    draw = random.Random(seed)
    graph = Graph()
    units = [graph.unit(draw.choice([1, 2, 4])) for _ in range(draw.randint(2, 6))]

    def some(most: int) -> tuple[int, ...]:
        return tuple(draw.sample(units, draw.randint(1, min(most, len(units)))))

    body = []
    for _ in range(draw.randint(2, 7)):
        reads, writes = some(2), some(2)
        adds = frozenset(u for u in writes if u not in reads and draw.random() < 0.1)
        blends = frozenset(u for u in writes if u not in adds and draw.random() < 0.1)
        before = tuple(u for u in writes if draw.random() < 0.5)
        needs = tuple(u for u in reads if u not in before and draw.random() < 0.5)
        cost, is_repeatable = draw.choice([1.0, 3.0]), draw.random() < 0.95
        body.append(Step(reads, writes, blends, adds, needs, before, cost, is_repeatable))
    for _ in range(draw.randint(18, 24)):
        for step in body:
            if draw.random() < 0.97:
                graph.add(step)
    return graph


def test_reverses_find_what_they_need_of_programs_of_steps() -> None:
    tight = 0
    for seed in range(6):
        graph = _random_steps(seed)
        _, everything = run_graph(graph, 10**6, sweeps=1)
        for part in (0.05, 0.15):
            budget = max(graph.least() + seed % 5, int(part * everything.peak))
            planner, _ = run_graph(graph, budget)
            tight += planner.states.is_tight()
    assert tight > 2


@pytest.mark.parametrize("states", [2, 4, 8])
def test_launches_of_many_a_step_run_again_as_often_as_steps_of_a_schedule(states: int) -> None:
    steps = 100
    graph = _fluid(steps)
    planner, memory = run_graph(graph, graph.least() + 3 * states, sweeps=1)
    repeated = memory.launches - LAUNCHES * steps
    assert repeated == sum(planner.repeated.values())
    assert repeated <= 1.25 * LAUNCHES * (executions(steps, states) - steps)


def test_cuts_lie_where_few_bytes_carry_the_program() -> None:
    recorded = _fluid(50)
    graph = units_of(recorded)
    cuts = Cuts(graph)
    for step in recorded.steps:
        cuts.follow(graph.add(step))
    assert len(cuts.places) >= 20
    for some in cuts.across[2:-2]:
        assert sum(graph.bytes_of(some)) == 3
