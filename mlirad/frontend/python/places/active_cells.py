"""The cells of sparse blocks that an element lies in: whether they are active, and activating
them."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field_layout import Activity, Kind
from mlirad.frontend.python.building import effects
from mlirad.frontend.python.building.builder import emit, index_constant, index_type


def cell_of(activity: Activity, index: Sequence[ir.Value]) -> list[ir.Value]:
    """The cell of a block that an element, or a cell below, lies in."""
    return [
        index[digits.axis]
        if digits.width == 1
        else emit("arith.divui", index_type(), [index[digits.axis], index_constant(digits.width)])
        for digits in activity.block_cell
    ]


def activate(activities: Sequence[Activity], index: Sequence[ir.Value]) -> None:
    """Make the cells that an element lies in active."""
    if activities:
        effects.activate(activities[-1].field, cell_of(activities[-1], index))


def are_active(activities: Sequence[Activity], index: Sequence[ir.Value]) -> ir.Value | None:
    """Whether the cells that an element lies in are; None where they always are. Around an active
    cell, only those of bitmasked blocks may be inactive."""
    deciding = [one for one in activities if one is activities[-1] or one.kind is Kind.BITMASKED]
    if not deciding:
        return None
    answers = [effects.is_active(one.field, cell_of(one, index)) for one in deciding]
    result = answers[0]
    for answer in answers[1:]:
        result = emit("arith.andi", result.type, [result, answer])
    return result
