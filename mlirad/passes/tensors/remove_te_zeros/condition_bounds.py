"""Conditions on the indices of a reduction as its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.analysis.tensors.te_accesses import Form
from mlirad.analysis.tensors.te_points import SHORT
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.reports.remarks import remark
from mlirad.ir.structured import If, is_branch
from mlirad.ir.walk import (
    before,
    block_operations,
    conjuncts,
    constant_float,
    constant_integer,
    defining_op,
    is_defined_in,
)
from mlirad.sweeps.tensors.points import emit_sum

_NEUTRAL = {
    te.ReduceKind.SUM: 0.0,
    te.ReduceKind.PROD: 1.0,
    te.ReduceKind.MAX: float("-inf"),
    te.ReduceKind.MIN: float("inf"),
}
Sum = Linear[ir.Value]


def bound_by_conditions(op: ir.Operation) -> None:
    """Leave out the points of a reduction at which it combines with what changes nothing, where a
    condition on an index says which they are."""
    neutral = _NEUTRAL.get(te.reduce_kind(op))
    if neutral is None:
        return
    (*_, end) = block_operations(te.body_of(op))
    guard = _guard_of(end.operands[0], neutral)
    if guard is None or guard.block != te.body_of(op):
        return
    remaining: list[ir.Value] = []
    for atom in conjuncts(guard.operands[0]):
        if not _is_made_bound(op, atom):
            remaining.append(atom)
    if len(remaining) < len(list(conjuncts(guard.operands[0]))):
        with before(guard):
            guard.operands[0] = b.all_of(remaining) if remaining else b.number(1, b.integer_type(1))
        remark(op, "a condition bounds the loop")


def _guard_of(value: ir.Value, neutral: float) -> ir.Operation | None:
    """The op that chooses between a value and what is neutral; the factor of a derivative that is
    chosen so, or 0, chooses for the product."""
    op = defining_op(value)
    if op is None:
        return None
    if te.is_derivative(op) and op.name == Arith.MULF and not neutral:
        guards = (_guard_of(operand, neutral) for operand in op.operands)
        return next((guard for guard in guards if guard is not None), None)
    if op.name == Arith.SELECT:
        return op if constant_float(op.operands[2]) == neutral else None
    if not is_branch(op) or len(op.results) != 1:
        return None
    (*_, end) = block_operations(If(op).otherwise)
    return op if constant_float(end.operands[0]) == neutral else None


def _is_made_bound(op: ir.Operation, atom: ir.Value) -> bool:
    """Return whether what a comparison demands of one index of a reduction is now in its bounds."""
    sums = sums_of(atom)
    indices = list(te.body_of(op).arguments)
    used = [k for k, index in enumerate(indices) if any(sum_.coefficient(index) for sum_ in sums)]
    if len(used) != 1:
        return False
    (axis,) = used
    names = [name for sum_ in sums for name in sum_.names if name != indices[axis]]
    if any(is_defined_in(name, op) or not isinstance(name.type, ir.IndexType) for name in names):
        return False
    if len(sums) == 1 and names and _is_short(op, axis):
        return False
    for sum_ in sums:
        _narrow(op, axis, sum_.coefficient(indices[axis]), sum_.without(indices[axis]))
    return True


def _is_short(op: ir.Operation, axis: int) -> bool:
    low, high = map(constant_integer, te.bounds_of(op)[axis])
    return low is not None and high is not None and high - low <= SHORT


def _narrow(op: ir.Operation, axis: int, factor: int, remainder: Sum) -> None:
    """Let an index k have the values with `factor · k + rest >= 0`."""
    low, high = te.bounds_of(op)[axis]
    with before(op):
        if factor > 0:
            end = _quotient(Arith.CEILDIVSI, remainder.times(-1), factor)
            op.operands[2 * axis] = b.maxsi(low, end)
        else:
            last = remainder.plus(number(-factor))
            end = _quotient(Arith.FLOORDIVSI, last, -factor)
            op.operands[2 * axis + 1] = b.minsi(high, end)


def _quotient(name: str, total: Sum, divisor: int) -> ir.Value:
    form: Form = Linear(total.terms, total.constant)
    value = emit_sum(form, {})
    return value if divisor == 1 else b.make(name, value.type, [value, b.index(divisor)])


def sums_of(atom: ir.Value) -> Sequence[Sum]:
    """The sums that are not negative where a comparison of indices holds, and only there; none for
    what is no such comparison."""
    op = defining_op(atom)
    if op is None or op.name != Arith.CMPI or not isinstance(op.operands[0].type, ir.IndexType):
        return []
    left, right = map(linear_form, op.operands)
    less, more = right.plus(left, -1), left.plus(right, -1)
    minus_one: Sum = number(-1)
    return {
        b.EQ: [less, more],
        b.SLT: [less.plus(minus_one)],
        b.SLE: [less],
        b.SGT: [more.plus(minus_one)],
        b.SGE: [more],
    }.get(b.predicate_of(op), [])
