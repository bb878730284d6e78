"""The cells of sparse blocks that hold an element: tests of their activity, and activating them."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field_layout import Activity, Kind
from mlirad.frontend.python.building import effects
from mlirad.ir import build


def cell_of(activity: Activity, index: Sequence[ir.Value]) -> list[ir.Value]:
    """The cell of a block that holds an element, or a cell below."""
    return [
        index[digits.axis]
        if digits.width == 1
        else build.div(index[digits.axis], build.index(digits.width))
        for digits in activity.block_cell
    ]


def activate(activities: Sequence[Activity], index: Sequence[ir.Value]) -> None:
    """Make the cells that hold an element active."""
    if activities:
        effects.activate(activities[-1].field, cell_of(activities[-1], index))


def are_active(activities: Sequence[Activity], index: Sequence[ir.Value]) -> ir.Value | None:
    """Return whether the cells that hold an element are active; None if they always are. Around an
    active cell, only those of bitmasked blocks may be inactive."""
    deciding = [
        activity
        for activity in activities
        if activity is activities[-1] or activity.kind is Kind.BITMASKED
    ]
    if not deciding:
        return None
    answers = [effects.is_active(activity.field, cell_of(activity, index)) for activity in deciding]
    return build.all_of(answers)
