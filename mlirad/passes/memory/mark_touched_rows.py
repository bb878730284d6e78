"""Note which rows of large fields a launch touches, so that no others are cleared, or put back.

A row is all elements with one first index. `field.rows` names the fields of which not all rows are
touched, and has a list for each: the first and the last row of an access, as `mark-footprints`
writes bounds, of the numbers of the launch's arguments.
"""

from __future__ import annotations

from mlirad.analysis.footprints.footprint import Axes, Axis, footprint
from mlirad.analysis.footprints.waiting_fields import (
    Access,
    accesses_by_field,
    note_boxes,
    of_launch,
)
from mlirad.bindings import ir
from mlirad.ir.memory.waiting import derivatives, has_large_rows
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.walk import functions

REQUIRES = KERNELS


def mark_touched_rows(module: ir.Operation) -> None:
    """Note them of the kernel, unless it calls functions."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    numbers, names = argument_numbers(kernels[0]), derivatives(module)
    notes: dict[str, list[Axes]] = {}
    for name, group in accesses_by_field(kernels[0]).items():
        if has_large_rows(group[0].array.type, is_derivative=name in names):
            rows = [_rows(access, numbers) for access in group]
            known = [one for one in rows if one is not None]
            if len(known) == len(rows):
                notes[name] = known
    note_boxes(module, "field.rows", notes)


def _rows(access: Access, numbers: dict[int, int]) -> Axes | None:
    """The first and the last row of an access; None where a launch does not tell."""
    (axis,) = footprint(access.indices[:1])
    low, high = of_launch(axis.low, numbers), of_launch(axis.high, numbers)
    return None if low is None or high is None else (Axis(low, high),)
