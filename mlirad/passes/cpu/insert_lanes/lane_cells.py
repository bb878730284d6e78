"""Cells of arrays from which accesses of each lane are a known number of elements away: of a
particle that adds to the points of a grid around it, one point.

The numbers of lanes' cells are taken out of a vector once for all such accesses, whose distances
are constants in their addresses. An access is to an element that there is, so a sum of 32 bits says
where, even if what it is made of has wrapped around.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from mlirad.analysis.lanes.steps import DYNAMIC
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.vectors import extract
from mlirad.passes.cpu.insert_lanes.values import Values

_MOST = 1 << 30  # elements of an array, and of a distance
_BITS = 32

Term = tuple[ir.Value, int]  # an index that lanes have, and by how many elements it goes on


def lane_cells(
    values: Values, flat: ir.Value, steps: Sequence[ir.Value | int], indices: Sequence[ir.Value]
) -> list[ir.Value] | None:
    """Return the offset of an access in each lane, if each of its indices is a constant, or differs
    by one from a number of the lane."""
    size = ir.MemRefType(flat.type).shape[0]
    if size == DYNAMIC or size >= _MOST:
        return None
    terms, distance = list[Term](), 0
    for index, step in zip(indices, steps):
        form = linear_form(index)
        if not isinstance(step, int) or abs(form.constant) >= _MOST:
            return None
        distance += form.constant * step
        if form.terms:
            ((leaf, factor), *more) = form.terms
            if more or factor != 1 or not _is_wide(leaf) or not _differ(values, (index, leaf)):
                return None
            terms.append((leaf, step))
    unit = gcd(*(step for _, step in terms))
    if not unit or abs(distance) >= _MOST:
        return None
    offsets = _offsets(values, [(leaf, step // unit) for leaf, step in terms], unit)
    return [b.add(offset, b.index(distance)) for offset in offsets] if distance else offsets


def _is_wide(value: ir.Value) -> bool:
    type_ = value.type
    return isinstance(type_, ir.IndexType) or ir.IntegerType(type_).width >= _BITS


def _differ(values: Values, numbers: Sequence[ir.Value]) -> bool:
    return all(values.strides.stride_of(value) is None for value in numbers)


def _offsets(values: Values, terms: Sequence[Term], unit: int) -> list[ir.Value]:
    """The offsets of cells of `unit` elements, lane by lane, made once in a block."""

    def numbers() -> list[ir.Value]:
        i32 = b.integer_type(_BITS)
        total: ir.Value | None = None
        for leaf, step in terms:
            vector = _narrow(values, values.vector(leaf))
            product = vector if step == 1 else b.mul(vector, values.splat(step, i32))
            total = product if total is None else b.add(total, product)
        assert total is not None
        return [b.to_index(extract(total, lane)) for lane in range(values.width)]

    def offsets() -> list[ir.Value]:
        cells = values.lane_by_lane(tuple(terms), numbers)
        return cells if unit == 1 else [b.mul(cell, b.index(unit)) for cell in cells]

    return values.lane_by_lane((unit, *terms), offsets)


def _narrow(values: Values, vector: ir.Value) -> ir.Value:
    element, i32 = ir.VectorType(vector.type).element_type, b.integer_type(_BITS)
    if element == i32:
        return vector
    narrow = values.vector_type(i32)
    is_index = isinstance(element, ir.IndexType)
    return b.index_cast(vector, narrow) if is_index else b.trunci(vector, narrow)
