"""Numbers of f32 that certainly are normal, as far as a few operations show it."""

from math import inf

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import constant_float, defining_op

LEAST_NORMAL = 2.0**-126
_MOST_STEPS = 8


def is_normal(value: ir.Value) -> bool:
    """Return whether a value is known to be no less than the least normal number of f32, or NaN."""
    return _least(value, _MOST_STEPS) >= LEAST_NORMAL


def _least(value: ir.Value, steps: int) -> float:
    """A number that a value is not below, unless it is NaN, as far as few steps show it."""
    constant, op = constant_float(value), defining_op(value)
    if constant is not None or op is None or not steps:
        return -inf if constant is None else constant
    operands = list(op.operands)
    if op.name == Arith.MULF and operands[0] == operands[1]:
        return 0.0
    if op.name in (Math.ABSF, Math.EXP, Math.SQRT):
        return 0.0
    is_square = op.name == Math.FMA and operands[0] == operands[1]
    if op.name != Arith.ADDF and not is_square:
        return -inf
    terms = [0.0] if is_square else []
    terms += [_least(operand, steps - 1) for operand in operands[2 if is_square else 0 :]]
    return max(terms) if min(terms) >= 0.0 else -inf
