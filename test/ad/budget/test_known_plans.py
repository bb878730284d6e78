"""Plans that are followed again by tapes that record the same, and made anew by others."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from optimal_budgets import small_graph
from planned_memory import Memory

import mlirad as ti
from mlirad.ad.budget import known_plans
from mlirad.ad.budget.budget import Budget
from mlirad.ad.budget.graph import Graph, Step
from mlirad.ad.budget.known_plans import KnownPlans, PlanFollower
from mlirad.ad.budget.planner import Planner

N, STEPS = 16, 30


class Planners:
    """Counts those that are made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0

        def make(*arguments: Any) -> Planner:
            self.made += 1
            return Planner(*arguments)

        monkeypatch.setattr(known_plans, "Planner", make)


@pytest.fixture
def planners(monkeypatch: pytest.MonkeyPatch) -> Planners:
    return Planners(monkeypatch)


class Failing(Memory):
    """Memory where one launch, or reverse, fails."""

    fails_in = -1

    def run(self, step: int) -> None:
        self._count()
        super().run(step)

    def reverse(self, step: int) -> None:
        self._count()
        super().reverse(step)

    def _count(self) -> None:
        self.fails_in -= 1
        if self.fails_in == 0:
            raise KeyboardInterrupt


def _follow(known: KnownPlans, graph: Graph, budget: int, fails_in: int = -1) -> tuple[int, int]:
    """Record the steps of a graph and reverse them; the launches, and the most bytes."""
    memory = Failing(graph)
    following = PlanFollower(memory, lambda: budget, known)
    for size in graph.sizes:
        following.unit(size)
    for step in graph.steps:
        before = [(unit, memory.values[unit]) for unit in step.before]
        number = following.record(step)
        memory.launch(number)
        behind = [(u, memory.values[u]) for u in step.needs if u not in step.before]
        memory.right[number] = [*before, *behind]
    left = dict(memory.values)
    if fails_in > 0:
        memory.fails_in = fails_in
        try:
            following.reverse()
        except KeyboardInterrupt:
            assert memory.values == left
        memory.fails_in = -1
    memory.reversed.clear()
    following.reverse()
    assert memory.values == left
    assert memory.reversed == [*reversed(range(len(graph.steps)))]
    assert memory.peak <= budget
    return memory.launches, memory.peak


def _changed(graph: Graph, draw: Random) -> Graph:
    """A graph of which one launch reads something else, or one more is launched."""
    found = Graph()
    for size in graph.sizes:
        found.unit(size)
    at = draw.randrange(len(graph.steps))
    for number, step in enumerate(graph.steps):
        if number == at and draw.random() < 0.5:
            found.add(Step((0,), (len(graph.sizes) - 1,), needs=(0,)))
        elif number == at:
            others = tuple(unit for unit in range(len(graph.sizes)) if unit not in step.reads)
            step = replace(step, reads=others, needs=(), before=())
        found.add(step)
    return found


def test_random_graphs_are_followed_and_changes_are_seen(planners: Planners) -> None:
    for seed in range(60):
        graph, draw, known = small_graph(seed), Random(seed), KnownPlans()
        budget = graph.least() + seed % 3
        first = _follow(known, graph, budget)
        planners.made = 0
        assert _follow(known, graph, budget) == first
        assert not planners.made
        _follow(known, graph, budget, fails_in=draw.randint(1, 12))
        changed = _changed(graph, draw)
        budget = max(budget, changed.least())
        planners.made = 0
        found = _follow(known, changed, budget)
        assert planners.made == 1
        assert found == _follow(KnownPlans(), changed, budget)
        assert _follow(known, graph, budget) == _follow(KnownPlans(), graph, budget)


class Training:
    """Steps in place, with a loss behind them."""

    def __init__(self) -> None:
        self.x = ti.field(ti.f64, N, needs_grad=True)
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, loss = self.x, self.loss

        @ti.kernel
        def step():
            for i in x:
                x[i] = ti.sin(x[i]) + 0.1 * x[i] ** 2

        @ti.kernel
        def half(first: ti.i32):
            for i in range(first, first + N // 2):
                x[i] = ti.cos(x[i]) * x[i]

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] ** 2

        self.step, self.half, self.total = step, half, total

    def gradient(self, **options: Any) -> tuple[Any, ti.ad.Tape]:
        self.x.from_numpy(np.linspace(0.8, 1.1, N))
        with ti.ad.Tape(self.loss, **options) as tape:
            self.run()
            self.total()
        return self.x.grad.to_numpy(), tape

    def run(self, halves: int = 0) -> None:
        for number in range(STEPS):
            self.step()
            if number < halves:
                self.half(number % 2 * N // 2)


@pytest.fixture
def training() -> Training:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1)
    return Training()


@pytest.mark.parametrize("memory", [5 * 8 * N, 0.25])
def test_training_steps_are_planned_once(
    training: Training, planners: Planners, memory: Any
) -> None:
    expected, _ = training.gradient()
    for _ in range(3):
        found, tape = training.gradient(memory=memory)
        np.testing.assert_array_equal(found, expected)
    assert planners.made == 1
    again = [line for line in tape.explain().remarks if "launched again" in line]
    assert again
    training.loss.grad.fill(1.0)
    tape.grad()
    assert [line for line in tape.explain().remarks if "launched again" in line] != again


def test_programs_that_change_are_planned_anew(
    training: Training, planners: Planners, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The changed one takes a field apart in the middle; then both are known."""
    for halves, made in ((0, 1), (0, 1), (5, 2), (5, 2), (0, 2), (9, 3)):
        monkeypatch.setattr(training, "run", lambda halves=halves: Training.run(training, halves))
        expected, _ = training.gradient()
        found, tape = training.gradient(memory=5 * 8 * N)
        np.testing.assert_array_equal(found, expected)
        assert planners.made == made
        assert isinstance(tape.ledger.keeper, Budget)
        assert tape.ledger.keeper.copies.peak <= 5 * 8 * N


def test_another_budget_is_another_plan(training: Training, planners: Planners) -> None:
    for memory in (5 * 8 * N, 6 * 8 * N, 5 * 8 * N):
        training.gradient(memory=memory)
    assert planners.made == 2
