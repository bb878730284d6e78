"""Affine expressions as arithmetic on indices, in the forms that `te` derives."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.passes.functions.raise_linalg_to_te.definitions import Unraisable


def results_of(map_: ir.AffineMap, indices: Sequence[ir.Value]) -> list[ir.Value]:
    """Emit the results of a map of some indices."""
    return [_value(result, indices) for result in map_.results]


def _value(expression: ir.AffineExpr, indices: Sequence[ir.Value]) -> ir.Value:
    if isinstance(expression, ir.AffineConstantExpr):
        return b.index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return indices[expression.position]
    if not isinstance(expression, ir.AffineBinaryExpr):
        raise Unraisable
    left, right = (_value(side, indices) for side in (expression.lhs, expression.rhs))
    if isinstance(expression, ir.AffineAddExpr):
        return b.add(left, right)
    if isinstance(expression, ir.AffineMulExpr):
        return b.mul(left, right)
    return _divided(expression, left)


def _divided(expression: ir.AffineBinaryExpr, dividend: ir.Value) -> ir.Value:
    if not isinstance(expression.rhs, ir.AffineConstantExpr):
        raise Unraisable
    number = expression.rhs.value
    if isinstance(expression, ir.AffineModExpr):
        return remainder(dividend, number)
    if isinstance(expression, ir.AffineCeilDivExpr):
        dividend = b.add(dividend, b.index(number - 1))
    return quotient(dividend, number)


def quotient(index: ir.Value, number: int) -> ir.Value:
    """Emit an index divided by a number, rounded down."""
    return index if number == 1 else b.floordivsi(index, b.index(number))


def remainder(index: ir.Value, number: int) -> ir.Value:
    """Emit what a division, rounded down, leaves of an index."""
    return b.sub(index, b.mul(quotient(index, number), b.index(number)))


def split(number: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    """Emit the indices of the element with a row-major number."""
    indices: list[ir.Value] = []
    for extent in reversed(extents[1:]):
        indices.insert(0, b.index(0) if extent == 1 else remainder(number, extent))
        number = quotient(number, extent)
    return [number, *indices] if extents else []


def join(indices: Sequence[ir.Value], extents: Sequence[int]) -> ir.Value:
    """Emit the row-major number of an element."""
    number = b.index(0)
    for position, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        number = index if not position else b.add(b.mul(number, b.index(extent)), index)
    return number
