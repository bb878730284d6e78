"""Note which rows of large fields a launch touches, and which boxes it sets: deferred writes to
others stay so, and those to what is set are not done at all (docs/deferred-writes.md).

A row is all elements with one first index. `field.rows` names the fields of which not all rows are
touched, and has a list for each: the first and the last row of an access, as `mark-footprints`
writes bounds, of the numbers of the launch's arguments. `field.sets` has boxes of all axes. Such a
box is swept by a store; all else that the kernel does to the field is in loops behind, or elsewhere
in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.analysis.footprints.footprint import Axes, Axis, Bound, footprint
from mlirad.analysis.footprints.large_fields import (
    Access,
    accesses_by_field,
    are_apart,
    note_boxes,
)
from mlirad.analysis.linear import Linear, number
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_store
from mlirad.ir.memory.large_arrays import LEAST, bytes_of, has_large_rows
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.walk import enclosing, functions

REQUIRES = KERNELS


def mark_touched_rows(module: ir.Operation) -> None:
    """Note which rows of large fields a kernel touches, unless it calls functions."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    numbers = argument_numbers(kernels[0])
    rows, sets = dict[str, list[Axes]](), dict[str, list[Axes]]()
    for name, accesses in accesses_by_field(kernels[0]).items():
        array = accesses[0].array.type
        if bytes_of(array) < LEAST:
            continue
        boxes = _boxes_set(accesses, numbers)
        if not has_large_rows(array):
            sets[name] = [box for box in boxes if _has_all_rows(box, array)]
            continue
        sets[name] = boxes
        touched = [_rows(access, numbers) for access in accesses]
        if None not in touched:
            rows[name] = [box for box in touched if box is not None]
    note_boxes(module, "field.rows", rows)
    note_boxes(module, "field.sets", sets)


def _rows(access: Access, numbers: Mapping[int, int]) -> Axes | None:
    """The first and the last row of an access; None where a launch does not tell."""
    (axis,) = footprint(access.indices[:1])
    low, high = _of_launch(axis.low, numbers), _of_launch(axis.high, numbers)
    return None if low is None or high is None else (Axis(low, high),)


def _of_launch(bound: Bound | None, numbers: Mapping[int, int]) -> Bound | None:
    """A bound of the positions of parameters, as one of the numbers of arguments."""
    if bound is None or any(position not in numbers for position, _ in bound.terms):
        return None
    terms = frozenset((numbers[position], factor) for position, factor in bound.terms)
    return Linear(terms, bound.constant)


def _has_all_rows(box: Axes, array: ir.Type) -> bool:
    return list(box[:1]) == [Axis(number(0), number(n - 1)) for n in array_of(array)[1][:1]]


def _boxes_set(accesses: list[Access], numbers: Mapping[int, int]) -> list[Axes]:
    """The boxes that stores set as a whole, before anything of them is read."""
    if min(array_of(accesses[0].array.type)[1], default=1) < 1:
        return []
    from mlirad.analysis.footprints.swept_boxes import swept_box  # for large fields alone

    boxes = [
        swept_box(store.op, store.indices, numbers)
        for store in accesses
        if is_store(store.op) and all(_is_later_or_apart(other, store) for other in accesses)
    ]
    return [box for box in boxes if box is not None]


def _is_later_or_apart(other: Access, store: Access) -> bool:
    """Return whether an access finds a box set, sets it too, or is elsewhere."""
    return is_store(other.op) or _is_outside_before(store, other) or are_apart(other, store)


def _is_outside_before(first: Access, second: Access) -> bool:
    """Return whether an access ends before the code around the other one begins."""
    first_outer, other = _outermost(first.op), _outermost(second.op)
    return first_outer != other and first_outer.is_before_in_block(other)


def _outermost(op: ir.Operation) -> ir.Operation:
    """The operation of the function's own block that one lies in."""
    while enclosing(op).name != "func.func":
        op = enclosing(op)
    return op
