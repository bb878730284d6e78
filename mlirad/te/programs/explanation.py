"""The text of `step.explain()` on definitions: their axes, and the choices for these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir.marks.axis_choices import AxisChoice, choices_of
from mlirad.ir.reports.remarks import shown_place, take_remarks
from mlirad.ir.walk import block_operations


def explain_definitions(module: ir.Operation, ops: Sequence[ir.Operation]) -> list[str]:
    """Return the remarks of passes on definitions, which are removed, and what is asked of each."""
    said = [f"{shown_place(op)}: {text}" for op, text in take_remarks(module)]
    return said + [f"{shown_place(op)}: {_describe(op)}" for op in ops if te.ComputeOp.holds(op)]


def _describe(op: ir.Operation) -> str:
    outer = choices_of(op, ir.RankedTensorType(op.results[0].type).rank)
    reduced = [
        choice
        for inner in block_operations(te.body_of(op))
        if te.is_reduce(inner)
        for choice in choices_of(inner, len(te.bounds_of(inner)))
    ]
    names = ", ".join(choice.name or "_" for choice in outer)
    summed = f"; {', '.join(choice.name or '_' for choice in reduced)}" if reduced else ""
    asked = ", ".join(_requests(outer, reduced)) or "schedule found"
    return f"'{te.label_of(op)}' ({names}{summed}): {asked}"


def _requests(outer: Sequence[AxisChoice], reduced: Sequence[AxisChoice]) -> Iterator[str]:
    choices = [*outer, *reduced]
    tiles = [f"{choice.name} {choice.tile}" for choice in choices if choice.tile]
    if tiles:
        yield f"tiles of {', '.join(tiles)}"
    yield from (f"{choice.name} in lanes" for choice in choices if choice.in_lanes)
    written_out = [choice.name for choice in choices if choice.is_written_out]
    if written_out:
        yield f"{', '.join(written_out)} written out"
    if any(choice.is_serial for choice in outer):
        shared = [choice.name for choice in outer if not choice.is_serial]
        yield f"{', '.join(shared) or 'no axis'} parallel"
