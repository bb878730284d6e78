"""Quotients and remainders of indices, without a division where loops tell them: of
`8 * cell + k`, where `k` runs from 0 to 7, by 8."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.index_ranges import index_range
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer, defining_op

_Term = tuple[ir.Value, int]  # a number and its factor


def divide_index(index: ir.Value, width: int) -> tuple[ir.Value, ir.Value]:
    """The quotient and the remainder of an index that is not negative, made at the insertion
    point."""
    terms, constant = _terms(index)
    multiples = [(value, factor // width) for value, factor in terms if factor % width == 0]
    small_terms = [(value, factor) for value, factor in terms if factor % width]
    quotient, remainder = divmod(constant, width)
    if multiples and _is_below(small_terms, remainder, width):
        return _sum(multiples, quotient), _sum(small_terms, remainder)
    divisor = b.index(width)
    return b.div(index, divisor), b.rem(index, divisor)


def _terms(index: ir.Value) -> tuple[list[_Term], int]:
    """An index as a sum of multiples, in order, and a constant."""
    constant = constant_integer(index)
    if constant is not None:
        return [], constant
    op = defining_op(index)
    if op is not None and op.name in (Arith.ADDI, Arith.SUBI):
        (left, first), (right, second) = map(_terms, op.operands)
        sign = 1 if op.name == Arith.ADDI else -1
        return [*left, *((value, sign * factor) for value, factor in right)], first + sign * second
    if op is not None and op.name == Arith.MULI:
        (left, first), (right, second) = map(_terms, op.operands)
        if not right:
            return [(value, second * factor) for value, factor in left], second * first
        if not left:
            return [(value, first * factor) for value, factor in right], first * second
    return [(index, 1)], 0


def _is_below(terms: Sequence[_Term], constant: int, width: int) -> bool:
    """Return whether a sum is known to be one of `0 ... width - 1`."""
    low = high = constant
    for value, factor in terms:
        bounds = index_range(value)
        if bounds is None:
            return False
        ends = factor * bounds[0], factor * (bounds[1] - 1)
        low, high = low + min(ends), high + max(ends)
    return low >= 0 and high < width


def _sum(terms: Sequence[_Term], constant: int) -> ir.Value:
    total: ir.Value | None = None
    for value, factor in terms:
        term = value if factor == 1 else b.mul(value, b.index(factor))
        total = term if total is None else b.add(total, term)
    if total is None:
        return b.index(constant)
    return b.add(total, b.index(constant)) if constant else total
