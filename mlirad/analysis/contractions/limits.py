"""Conditions that are bounds of loop indices."""

from __future__ import annotations

import msgspec

from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_for
from mlirad.ir.walk import defining_op, is_defined_in


class Limits(msgspec.Struct):
    """Further bounds of one index: it is at least, and below, some sums."""

    lower: list[Linear[ir.Value]] = msgspec.field(default_factory=list)
    upper: list[Linear[ir.Value]] = msgspec.field(default_factory=list)


LimitsOf = dict[ir.Value, Limits]


def copy_limits(limits: LimitsOf) -> LimitsOf:
    """A copy of limits, to be narrowed."""
    return {
        index: Limits([*index_limits.lower], [*index_limits.upper])
        for index, index_limits in limits.items()
    }


def narrow(limits: LimitsOf, condition: ir.Value, nest: ir.Operation) -> bool:
    """Add to limits what a condition says of the indices of a nest; False where it says anything
    else than bounds that are known in front of the nest."""
    op = defining_op(condition)
    if op is not None and op.name == Arith.ANDI:
        return all(narrow(limits, operand, nest) for operand in op.operands)
    gap = gap_of(op)
    if gap is None:
        return False
    inner_names = [name for name in gap.names if is_defined_in(name, nest)]
    if not inner_names:
        return not gap.terms and gap.constant >= 0
    index, factor = inner_names[0], gap.coefficient(inner_names[0])
    if len(inner_names) > 1 or not isinstance(index, ir.BlockArgument):
        return False
    if not is_for(index.owner.owner.operation) or index.arg_number:
        return False
    bound = gap.without(index)
    if abs(factor) != 1:
        if bound.terms:
            return False
        bound = number(bound.constant // abs(factor))
    index_limits = limits.setdefault(index, Limits())
    if factor > 0:  # index + rest >= 0
        index_limits.lower.append(bound.times(-1))
    else:  # rest - index >= 0
        index_limits.upper.append(bound.plus(number(1)))
    return True


def gap_of(op: ir.Operation | None) -> Linear[ir.Value] | None:
    """Return the sum that is not negative if a comparison holds."""
    if op is None or op.name != Arith.CMPI:
        return None
    kind = b.predicate_of(op)
    left, right = (linear_form(operand) for operand in op.operands)
    if kind in (b.SGT, b.SGE):
        left, right, kind = right, left, b.SLT if kind == b.SGT else b.SLE
    if kind not in (b.SLT, b.SLE):
        return None
    return right.plus(left, -1).plus(number(-1 if kind == b.SLT else 0))
