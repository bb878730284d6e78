"""Guards of derivatives: choices of 0 where an adjoint or a tangent is 0, whatever it would be
multiplied by, and what they may be left out for."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.marks.rounding import DECISION
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import constant_float, defining_op, is_zero

_FIRST = (Arith.DIVF, Arith.NEGF, Arith.EXTF, Arith.TRUNCF)
_SUMS = (Arith.ADDF, Arith.SUBF)
# of a NaN they make a NaN
_STRICT = frozenset(
    {
        *_FIRST,
        *_SUMS,
        Arith.MULF,
        Arith.REMF,
        *(op for op, function in FUNCTIONS.items() if function.arity == 1),
        Math.FMA,
    }
)


class Guard(msgspec.Struct, frozen=True):
    """A choice, and what it comes to where it does not choose 0. Without it either the same number
    comes out or a NaN, unless `witness` is a NaN."""

    op: ir.Operation
    value: ir.Value
    witness: ir.Value | None = None


def guard_of(op: ir.Operation) -> Guard | None:
    """The guard that an op is."""
    if op.name != Arith.SELECT or not is_zero(op.operands[1]):
        return None
    value = op.operands[2]
    test = defining_op(op.operands[0])
    if test is None:
        return None
    if test.name == Arith.ANDI:
        operand_ops = [defining_op(operand) for operand in test.operands]
        nan_tests = [
            operand for operand in operand_ops if operand is not None and _is_nan_test(operand)
        ]
        if not nan_tests:
            return None
        witness = nan_tests[0].operands[0]
        return Guard(op, value, None if witness == value else witness)
    tangent = _compared_with_zero(test)
    if tangent is None or not _is_multiple(value, tangent):
        return None
    return Guard(op, value)


class GuardedProduct(NamedTuple):
    """A product, and which of its two factors make it 0 if they are 0, whatever the other one
    is."""

    product: ir.Operation
    guards: tuple[bool, bool]


class GuardedSum(NamedTuple):
    """A value that counts as 0 where the product of two factors is a NaN and the first is 0."""

    value: ir.Value
    witness: tuple[ir.Value, ir.Value]


def guarded_product(op: ir.Operation) -> GuardedProduct | None:
    """Return the product that an op gives unless a factor is 0; None for other ops."""
    guard = guard_of(op)
    if guard is None or guard.witness is not None:
        return None
    product, zero = defining_op(guard.value), _tested_for_zero(op)
    if product is None or product.name != Arith.MULF or zero is None:
        return None
    left, right = (factor == zero for factor in product.operands)
    return GuardedProduct(product, (left, right)) if left or right else None


def guarded_sum(op: ir.Operation) -> GuardedSum | None:
    """Return the value that an op gives unless a product of other values is a NaN by a factor that
    is 0; None for other ops."""
    guard, zero = guard_of(op), _tested_for_zero(op)
    if guard is None or guard.witness is None or zero is None:
        return None
    product = defining_op(without_sign(guard.witness)[0])
    if product is None or product.name != Arith.MULF:
        return None
    zero, *factors = (without_sign(value)[0] for value in (zero, *product.operands))
    if zero not in factors:
        return None
    return GuardedSum(guard.value, (zero, factors[1 - factors.index(zero)]))


def without_sign(value: ir.Value) -> tuple[ir.Value, bool]:
    """Return the value that another is, or is the negative of, and whether it is the latter."""
    op = defining_op(value)
    if op is None or op.name != Arith.NEGF:
        return value, False
    return op.operands[0], True


def is_strict(op: ir.Operation) -> bool:
    """Return whether an op gives a NaN where an operand is one."""
    return op.name in _STRICT


def _is_nan_test(op: ir.Operation) -> bool:
    return (
        op.name == Arith.CMPF and b.predicate_of(op) == b.UNO and op.operands[0] == op.operands[1]
    )


def _tested_for_zero(guard: ir.Operation) -> ir.Value | None:
    """Return the value that the test of a guard compares with 0."""
    test = defining_op(guard.operands[0]) if guard.name == Arith.SELECT else None
    if test is None:
        return None
    tests = map(defining_op, test.operands) if test.name == Arith.ANDI else [test]
    zeros = [_compared_with_zero(op) for op in tests if op is not None]
    return next((zero for zero in zeros if zero is not None), None)


def _compared_with_zero(op: ir.Operation) -> ir.Value | None:
    """Return the value that a comparison of a derivative compares with 0."""
    if op.name != Arith.CMPF or DECISION in op.attributes or b.predicate_of(op) != b.OEQ:
        return None
    left, right = op.operands
    return left if constant_float(right) == 0.0 else None


def _is_multiple(value: ir.Value, of: ir.Value) -> bool:
    """Return whether a value is 0 or NaN where another is 0, by its form."""
    if value == of:
        return True
    op = defining_op(value)
    if op is None:
        return False
    operands = list(op.operands)
    if op.name == Arith.MULF:
        return any(_is_multiple(operand, of) for operand in operands)
    if op.name in _FIRST:
        return _is_multiple(operands[0], of)
    if op.name in _SUMS:
        return all(_is_multiple(operand, of) for operand in operands)
    if op.name == Arith.SELECT:
        return all(is_zero(operand) or _is_multiple(operand, of) for operand in operands[1:])
    return False
