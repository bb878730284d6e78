"""Note which rows of large derivatives a launch touches, so that it clears no others.

A row is all elements with one first index. `field.rows` names the fields of which not all rows are
touched, and has a list for each: the first and the last row of an access, as `mark-footprints`
writes bounds, of the numbers of the launch's arguments.
"""

from __future__ import annotations

from mlirad.analysis.footprint import Axes, Axis, Bound, box_attribute, footprint
from mlirad.analysis.linear import Linear
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, array_of, is_access, split_access
from mlirad.ir.requirements import KERNELS
from mlirad.ir.signature import argument_numbers
from mlirad.ir.waiting import LEAST, LEAST_ROW, bytes_of, derivatives
from mlirad.ir.walk import array_root, functions, operations

REQUIRES = KERNELS


def mark_touched_rows(module: ir.Operation) -> None:
    """Note them of the kernel, unless it calls functions."""
    kernels = functions(module)
    if len(kernels) != 1:
        return
    numbers, names = argument_numbers(kernels[0]), derivatives(module)
    found: dict[str, set[Axes] | None] = {}  # None: all rows
    for op in operations(kernels[0]):
        if is_access(op):
            array, indices = split_access(op)
            root = array_root(array)
            if isinstance(root, str) and root in names:
                rows = _rows(indices, numbers) if _has_rows(array.type) else None
                found[root] = None if rows is None else _joined(found.get(root, set()), rows)
        elif GetOp.holds(op) and not _is_only_accessed(op.results[0]):
            found[ir.FlatSymbolRefAttr(op.attributes["field"]).value] = None
    notes = {name: _note(rows) for name, rows in found.items() if rows}
    if notes:
        module.attributes["field.rows"] = ir.DictAttr.get(notes)


def _has_rows(array: ir.Type) -> bool:
    """Whether an array waits to be cleared, and its rows are large enough to do so apart."""
    extents = array_of(array)[1]
    if not extents or extents[0] < 2 or min(extents) < 1:
        return False
    size = bytes_of(array)
    return size >= LEAST and size >= LEAST_ROW * extents[0]


def _rows(indices: list[ir.Value], numbers: dict[int, int]) -> Axes | None:
    """The first and the last row of an access; None where a launch does not tell."""
    (axis,) = footprint(indices[:1])
    low, high = _of_launch(axis.low, numbers), _of_launch(axis.high, numbers)
    return None if low is None or high is None else (Axis(low, high),)


def _of_launch(bound: Bound | None, numbers: dict[int, int]) -> Bound | None:
    """A bound of the positions of parameters, as one of the numbers of arguments."""
    if bound is None or any(position not in numbers for position, _ in bound.terms):
        return None
    terms = frozenset((numbers[position], factor) for position, factor in bound.terms)
    return Linear(terms, bound.constant)


def _joined(before: set[Axes] | None, rows: Axes) -> set[Axes] | None:
    return None if before is None else {*before, rows}


def _is_only_accessed(array: ir.Value) -> bool:
    return all(is_access(use.owner) or DimOp.holds(use.owner) for use in array.uses)


def _note(rows: set[Axes]) -> ir.Attribute:
    boxes = sorted((box_attribute(axes) for axes in rows), key=str)
    return ir.ArrayAttr.get(boxes)
