"""Uses of rows of large fields by a launch, as `mark-touched-rows` notes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from mlirad.analysis.footprints.footprint import Axes, read_box
from mlirad.bindings import ir
from mlirad.runtime.boxes import Box
from mlirad.runtime.footprints import launch_boxes, launch_ranges

Boxes = Sequence[Callable[[Sequence[Any]], Box]]  # for the arguments of a launch


class RowNotes(msgspec.Struct, frozen=True):
    """Boxes of fields, by their names."""

    rows: Mapping[str, Boxes]  # which it touches; has no fields of which these are all
    sets: Mapping[str, Boxes]  # all elements of which it sets before it reads any


NO_NOTES = RowNotes({}, {})


def read_row_notes(module: ir.Module) -> RowNotes:
    """The notes of a kernel."""
    rows, sets = _axes_of_fields(module, "field.rows"), _axes_of_fields(module, "field.sets")
    return RowNotes(
        {field: launch_ranges(axes) for field, axes in rows.items()},
        {field: launch_boxes(axes) for field, axes in sets.items()},
    )


def _axes_of_fields(module: ir.Module, name: str) -> dict[str, list[Axes]]:
    attributes = module.operation.attributes
    notes = map(ir.ArrayAttr, ir.ArrayAttr(attributes[name])) if name in attributes else []
    return {ir.FlatSymbolRefAttr(field).value: _axes(boxes) for field, boxes in notes}


def _axes(boxes: ir.Attribute) -> list[Axes]:
    return [read_box(box) for box in ir.ArrayAttr(boxes)]
