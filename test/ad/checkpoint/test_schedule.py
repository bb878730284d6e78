"""Schedules of checkpointed loops, driven by themselves: how often steps are run, and how many
states are kept."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import comb

import pytest

from mlirad.ad.checkpoint.schedule import (
    OnlinePlacement,
    executions,
    placements,
    repetitions,
    reversals,
)
from mlirad.ad.checkpoint.steps import Column, StepLog


def drive(kept: list[int], to_reverse: int, snapshots: int) -> tuple[int, int]:
    """Run a schedule on numbers in place of states: how many steps are run again, and the most
    states kept at once.

    Every step starts in the state that it belongs to, and every step is reversed once, last first.
    """
    held, runs, most = {state for state in kept if state < to_reverse}, 0, 0
    reversed_steps = []
    for plan in reversals(kept, to_reverse, snapshots):
        assert plan.begin in held
        for state in range(plan.begin, plan.step + 1):
            runs += 1
            if state in plan.keep:
                assert state not in held
                held.add(state)
        assert all(plan.begin < state <= plan.step for state in plan.keep)
        most = max(most, len(held))
        reversed_steps.append(plan.step)
        held -= set(plan.forget)
    assert reversed_steps == list(reversed(range(to_reverse)))
    assert held <= {0}
    return runs, most


def known(steps: int, snapshots: int) -> tuple[int, int]:
    """All runs of steps where their number is known, the last one being reversed as it was first
    run."""
    kept = placements(steps, snapshots)
    runs, most = drive(kept, steps - 1, snapshots)
    return steps + runs, max(most, len(kept))


@cache
def least(steps: int, snapshots: int) -> int:
    """The fewest runs in front of those that are reversed at once: by trying every place of the
    next snapshot."""
    if steps <= 1:
        return 0
    if snapshots == 1:
        return steps * (steps - 1) // 2
    return min(
        first + least(steps - first, snapshots - 1) + least(first, snapshots)
        for first in range(1, steps)
    )


@pytest.mark.parametrize(("steps", "snapshots"), list(product((100, 1000, 10000), (5, 10, 20, 40))))
def test_binomial(steps: int, snapshots: int) -> None:
    r = next(r for r in range(steps) if comb(snapshots + r, snapshots) >= steps)
    runs, most = known(steps, snapshots)
    assert (
        runs
        == steps + r * steps - comb(snapshots + r, snapshots + 1)
        == executions(steps, snapshots)
    )
    assert most + 1 <= snapshots + 1  # and what the program left


def test_it_is_the_least() -> None:
    for steps, snapshots in product(range(1, 60), range(1, 8)):
        runs, most = known(steps, snapshots)
        assert runs == steps + least(steps, snapshots) == executions(steps, snapshots)
        assert most <= snapshots
        assert comb(snapshots + repetitions(steps, snapshots), snapshots) >= steps
    assert placements(0, 3) == []


@pytest.mark.parametrize("snapshots", [1, 2, 3, 5, 10, 20, 40])
def test_unknown_numbers_of_steps(snapshots: int) -> None:
    online, copies, before = OnlinePlacement(snapshots), 0, list[int]()
    checked = {*range(1, 120), 200, 500, 1000, 3000, 10000} if snapshots > 1 else set(range(1, 120))
    for state in range(max(checked)):
        before.append(state)
        forgotten = online.reach(state)
        kept = list(online.kept)
        if forgotten is not None:
            before = [old for old in before if old not in forgotten]
            assert kept == before
        else:
            before.pop()
            assert set(kept) <= set(before)
        assert kept[0] == 0
        copies += state in kept
        if state + 1 in checked:
            runs, most = drive(kept, state + 1, snapshots)
            assert state + 1 + runs <= 2 * executions(state + 1, snapshots)
            assert max(most, len(kept)) <= snapshots
    assert copies < max(checked) / 10


def test_a_loop_that_is_left() -> None:
    """A schedule for more steps than were done: every snapshot is used, none too many are kept."""
    for steps, snapshots in product((7, 50, 300), (1, 3, 8)):
        kept = [state for state in placements(1000, snapshots) if state < steps]
        _, most = drive(kept, steps, snapshots)
        assert most <= snapshots


def test_columns() -> None:
    cases = [
        list(range(1000)),
        [7] * 500,
        [3, 3, 3, 9, 12, 15],
        [k % 2 for k in range(1000)],
        [k * k % 1000 for k in range(500)],
        [2**40 * (k % 5) for k in range(300)],
        [2**70 + k % 3 for k in range(300)],
        [0.5] * 10 + [0.0, -0.0] + [float(k) for k in range(300)],
        [True, 1, 1.0, None, "a"] * 50,
        [-k for k in range(200)],
        [1] * 300 + [0.5] * 3 + [float("inf")],
    ]
    for case in cases:
        column = Column()
        for value in case:
            column.append(value)
        assert [(type(v), repr(v)) for v in column] == [(type(v), repr(v)) for v in case]
        again = Column()
        for value in case:
            again.append(value)
        assert column == again
        again.append(5)
        assert column != again


def test_alike_steps_cost_nothing() -> None:
    log = StepLog()
    for t in range(10000):
        log.append(
            [("move", (t, 0.5)), ("clear", ())]
            if t % 2
            else [("clear", ()), ("move", (3 * t, 0.5))]
        )
    assert len(log.order) == 2
    assert log[4711] == [("move", (4711, 0.5)), ("clear", ())]
    assert log[4712] == [("clear", ()), ("move", (3 * 4712, 0.5))]
    assert all(
        len(column.firsts) == 1
        for shape in log.order
        for columns in shape.columns
        for column in columns
    )
