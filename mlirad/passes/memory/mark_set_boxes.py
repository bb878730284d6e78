"""Note the boxes of large fields that a launch sets as a whole before it reads anything of them:
what waits there, to be cleared or to be put back, need not be. They have all rows, or, where
these wait apart, some.

`field.sets` names the fields, and has boxes for each, as `mark-footprints` writes them, of the
numbers of the launch's arguments. Such a box is swept by a store; all else that the kernel does to
the field is in loops behind, or elsewhere in it.
"""

from __future__ import annotations

from mlirad.analysis.footprints.footprint import Axes, Axis
from mlirad.analysis.footprints.swept_boxes import swept_box
from mlirad.analysis.footprints.waiting_fields import (
    Access,
    accesses_by_field,
    are_apart,
    is_outside_before,
    note_boxes,
)
from mlirad.analysis.linear import number
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_store
from mlirad.ir.memory.waiting import LEAST, bytes_of, derivatives, has_large_rows
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.walk import functions

REQUIRES = KERNELS


def mark_set_boxes(module: ir.Operation) -> None:
    """Note them of the kernel, unless it calls functions."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    numbers, names = argument_numbers(kernels[0]), derivatives(module)
    notes: dict[str, list[Axes]] = {}
    for name, group in accesses_by_field(kernels[0]).items():
        array = group[0].array.type
        if bytes_of(array) < LEAST:
            continue
        boxes = [
            box
            for access in group
            if (box := _box_set(access, numbers)) is not None
            and all(_is_later_or_apart(other, access) for other in group)
        ]
        if has_large_rows(array, is_derivative=name in names) or _have_all_rows(boxes, array):
            notes[name] = boxes
    note_boxes(module, "field.sets", notes)


def _have_all_rows(boxes: list[Axes], array: ir.Type) -> bool:
    """Whether boxes have all rows."""
    extent = array_of(array)[1][:1]
    whole = [Axis(number(0), number(one - 1)) for one in extent]
    return all(list(box[:1]) == whole for box in boxes)


def _box_set(access: Access, numbers: dict[int, int]) -> Axes | None:
    """The box that a store sets as a whole; None where it is none."""
    if not is_store(access.op) or min(array_of(access.array.type)[1], default=1) < 1:
        return None
    return swept_box(access.op, access.indices, numbers)


def _is_later_or_apart(other: Access, store: Access) -> bool:
    """Whether an access finds a box set, sets it too, or is elsewhere."""
    return is_store(other.op) or is_outside_before(store, other) or are_apart(other, store)
