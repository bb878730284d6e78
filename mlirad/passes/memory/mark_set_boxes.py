"""Note the boxes of large fields that a launch sets as a whole before it reads anything of them:
what waits there, to be cleared or to be put back, need not be. They have all rows, or, where
these wait apart, some.

`field.sets` names the fields, and has boxes for each, as `mark-footprints` writes them, of the
numbers of the launch's arguments. Such a box is stored to by an access that nothing but loops is
around, each of which runs through one axis; all else that the kernel does to the field is in loops
behind, or elsewhere in it.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.analysis.footprint import Axes, Axis, footprint
from mlirad.analysis.linear import linear_form, number
from mlirad.bindings import ir
from mlirad.dialect.field import array_of, is_store
from mlirad.ir.box import bounds_of_index, indices_around
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.waiting import LEAST, bytes_of, derivatives, has_large_rows
from mlirad.ir.walk import constant_integer, enclosing, functions
from mlirad.passes.memory._waiting_fields import Access, accesses_by_field, note_boxes, of_launch

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
    if not is_store(access.op):
        return None
    around = indices_around(access.op)
    if around is None or not _runs_through(access.indices, around):
        return None
    axes: list[Axis] = []
    for axis, extent in zip(footprint(access.indices), array_of(access.array.type)[1]):
        low, high = of_launch(axis.low, numbers), of_launch(axis.high, numbers)
        if low is None or high is None or extent < 1:
            return None
        axes.append(Axis(low, high))
    return tuple(axes)


def _runs_through(indices: list[ir.Value], around: list[ir.Value]) -> bool:
    """Whether each of the loops around runs through one axis, in steps of 1, between bounds that
    no other loop changes."""
    left = list(around)
    for index in indices:
        moving = [(leaf, factor) for leaf, factor in linear_form(index).terms if leaf in around]
        if len(moving) > 1:
            return False
        for leaf, factor in moving:
            bounds = bounds_of_index(leaf)
            if abs(factor) != 1 or leaf not in left or bounds is None:
                return False
            ends = linear_form(bounds.lower), linear_form(bounds.upper)
            if constant_integer(bounds.step) != 1 or any(
                name in around for end in ends for name in end.names
            ):
                return False
            left.remove(leaf)
    return not left


def _is_later_or_apart(other: Access, store: Access) -> bool:
    """Whether an access finds a box set, sets it too, or is elsewhere."""
    if is_store(other.op):
        return True
    first, second = _outermost(store.op), _outermost(other.op)
    if first != second and first.is_before_in_block(second):
        return True
    return any(
        own.terms == given.terms and own.constant != given.constant and _is_of_launch(own.names)
        for own, given in zip(map(linear_form, store.indices), map(linear_form, other.indices))
    )


def _is_of_launch(names: Iterable[ir.Value]) -> bool:
    """Whether values are arguments of the function, the same for all iterations."""
    return all(
        isinstance(name, ir.BlockArgument) and name.owner.owner.operation.name == "func.func"
        for name in names
    )


def _outermost(op: ir.Operation) -> ir.Operation:
    """The operation of the function's own block that one lies in."""
    while enclosing(op).name != "func.func":
        op = enclosing(op)
    return op
