"""Uses of rows of large fields by a launch, as `mark-touched-rows` notes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from mlirad.analysis.footprints.footprint import Axes, read_box
from mlirad.bindings import ir
from mlirad.runtime.boxes import Box, KnownBox
from mlirad.runtime.footprints import box_arguments, launch_boxes, launch_ranges

# for the arguments of a launch
Boxes = Sequence[Callable[[Sequence[Any]], Box]]
Rows = Sequence[Callable[[Sequence[Any]], KnownBox]]


class RowNotes(msgspec.Struct, frozen=True):
    """Boxes of fields, by their names."""

    rows: Mapping[str, Rows]  # which it touches; has no fields of which these are all
    sets: Mapping[str, Boxes]  # all elements of which it sets before it reads any
    begins: Mapping[str, Rows]  # the row, or the box, whose sums it may begin at 0
    later: Mapping[str, Rows]  # the box whose zeros it may leave for later
    numbers: tuple[int, ...] = ()  # of the arguments that these depend on


NO_NOTES = RowNotes({}, {}, {}, {})


def read_row_notes(module: ir.Module) -> RowNotes:
    """The notes of a kernel."""
    rows, sets, begins, later = all_notes = [
        _axes_of_fields(module, f"field.{name}") for name in ("rows", "sets", "begins", "later")
    ]
    boxes = [box for notes in all_notes for group in notes.values() for box in group]
    return RowNotes(
        {field: cast("Rows", launch_ranges(axes)) for field, axes in rows.items()},
        {field: launch_boxes(axes) for field, axes in sets.items()},
        _known_boxes(begins),
        _known_boxes(later),
        box_arguments(boxes),
    )


def _known_boxes(axes_of_fields: Mapping[str, list[Axes]]) -> dict[str, Rows]:
    return {field: cast("Rows", launch_boxes(axes)) for field, axes in axes_of_fields.items()}


def _axes_of_fields(module: ir.Module, name: str) -> dict[str, list[Axes]]:
    attributes = module.operation.attributes
    notes = map(ir.ArrayAttr, ir.ArrayAttr(attributes[name])) if name in attributes else []
    return {ir.FlatSymbolRefAttr(field).value: _axes(boxes) for field, boxes in notes}


def _axes(boxes: ir.Attribute) -> list[Axes]:
    return [read_box(box) for box in ir.ArrayAttr(boxes)]
