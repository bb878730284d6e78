"""Cells of arrays from which accesses of each lane are a known number of elements away: of a
particle that adds to the points of a grid around it, one point."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import msgspec

from mlirad.analysis.lanes.steps import DYNAMIC
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir

_MOST = 1 << 30  # elements of an array, and of a distance
BITS = 32  # of a number of cells

Term = tuple[ir.Value, int]  # an index, and by how many elements it goes on


class Cell(msgspec.Struct, frozen=True):
    """The element of an access: `terms` add up to where its cell begins, which is a multiple of
    `unit`, and it is `distance` elements behind that."""

    terms: tuple[Term, ...]
    distance: int
    unit: int


def cell_of(
    strides: Strides, size: int, steps: Sequence[ir.Value | int], indices: Sequence[ir.Value]
) -> Cell | None:
    """Return the cell of an access to an array of `size` elements, whose lanes are an unknown
    distance apart, if each of its indices is a constant, or a number and a constant."""
    if size == DYNAMIC or size >= _MOST or all(strides.stride_of(i) is not None for i in indices):
        return None
    terms, distance = list[Term](), 0
    for index, step in zip(indices, steps):
        form = linear_form(index)
        if not isinstance(step, int) or step == DYNAMIC or abs(form.constant) >= _MOST:
            return None
        distance += form.constant * step
        if form.terms:
            ((leaf, factor), *more) = form.terms
            if more or factor != 1 or not _is_wide(leaf):
                return None
            terms.append((leaf, step))
    unit = gcd(*(step for _, step in terms))
    return Cell(tuple(terms), distance, unit) if unit and abs(distance) < _MOST else None


def _is_wide(value: ir.Value) -> bool:
    type_ = value.type
    return isinstance(type_, ir.IndexType) or ir.IntegerType(type_).width >= BITS
