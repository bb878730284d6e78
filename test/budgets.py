"""Gradients within budgets, against those of a tape that keeps everything: to the bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mlirad as ti
from mlirad.ad.budget.budget import Budget
from mlirad.errors import TaichiMemoryError

PARTS = (1.0, 0.5, 0.25, 0.1)


def within(loss: ti.Field, run: Callable[[], None], memory: Any) -> ti.ad.Tape:
    """The tape of a program within a budget; where that is refused, within the least that can."""
    try:
        with ti.ad.Tape(loss, memory=memory) as tape:
            run()
    except TaichiMemoryError as error:
        found = re.search(r"memory=(\d+) is the lowest", str(error))
        assert found, str(error)
        raise TooSmall(int(found.group(1))) from None
    return tape


class TooSmall(Exception):
    """A budget that cannot do, and the least that can."""

    def __init__(self, least: int) -> None:
        super().__init__(least)
        self.least = least


def check_within_budgets(
    loss: ti.Field,
    run: Callable[[], None],
    prepare: Callable[[], None],
    fields: Sequence[ti.Field],
    parts: Sequence[float] = PARTS,
) -> int:
    """Compare gradients of fields, what they hold afterwards and the loss; how many launches ran
    again."""

    def found() -> list[Any]:
        return [
            *(field.grad.to_numpy() for field in fields),
            *(field.to_numpy() for field in fields),
            loss.to_numpy(),
        ]

    prepare()
    with ti.ad.Tape(loss):
        run()
    expected, repeated = found(), 0
    for part in parts:
        prepare()
        tape = within(loss, run, part)
        for left, right in zip(expected, found()):
            np.testing.assert_array_equal(left.view(np.int64), right.view(np.int64))
        budget = tape.ledger.keeper
        if isinstance(budget, Budget):
            # of nothing, no part is known before the end
            assert budget.copies.peak <= budget.limit or not budget.would_keep, (
                budget.copies.peak,
                budget.limit,
                budget.would_keep,
            )
            repeated += sum(budget.planner.repeated.values())
    return repeated
