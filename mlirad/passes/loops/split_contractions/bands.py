"""Bands of a nest: how many iterations of its outermost loop run at once, so that what its updates
read again and again stays in a cache.

The gradient of a window's weights reads the image once per weight. Of an image that no cache holds,
a band of rows does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlirad.analysis.contractions.elements import Element
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.structured import For
from mlirad.passes.loops.split_contractions.products import Update

_BAND = 1 << 19  # bytes of rows that a band reads and writes, and an L2 cache holds
_SMALL = 1 << 17  # bytes that every band reads and writes


def rows_of_band(root: ir.Operation, updates: Sequence[Update]) -> int | None:
    """The iterations of a band; None where bands do not pay: where a cache holds all rows, arrays
    that do not move with the outermost loop are large, or nothing is read again."""
    rows, fixed, is_reread = dict[ir.Value, int](), dict[ir.Value, int](), False
    outermost = For(root).induction
    for update in updates:
        for product in update.products:
            for element in (update.element, product.left, product.right):
                if not isinstance(element, Element):
                    return None
                arrays = rows if element.moves_with(outermost) else fixed
                arrays[element.memref] = _bytes(element, product.loops, root)
            is_reread |= product.loops_to(update.element) != product.loops
    row = sum(rows.values())
    if not is_reread or sum(fixed.values()) > _SMALL or not row:
        return None
    return None if sum(map(_size, rows)) <= _BAND else max(1, _BAND // row)


def _size(memref: ir.Value) -> int:
    """The bytes of an array; more than a band if its extents are not known."""
    type_ = ir.MemRefType(memref.type)
    return prod(type_.shape) * _width(memref) if type_.has_static_shape else _BAND + 1


def _width(memref: ir.Value) -> int:
    return ir.FloatType(ir.MemRefType(memref.type).element_type).width // 8


def _bytes(element: Element, loops: Sequence[ir.Operation], root: ir.Operation) -> int:
    """The bytes between the first and the last element of one iteration of the outermost loop, if
    axes along which it moves have one index."""
    extents = [
        1
        + sum(
            abs(form.coefficient(For(loop).induction)) * (spans(loop)[0].expected_trips - 1)
            for loop in loops
        )
        for form in element.forms
        if not form.coefficient(For(root).induction)
    ]
    return _width(element.memref) * prod(extents)
