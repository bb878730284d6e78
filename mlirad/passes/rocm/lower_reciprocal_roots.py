"""Reciprocals of square roots of f32 as AMD's instruction, where an estimate is allowed.

`v_rsq_f32` is off by one unit in the last place at most, and right for 0 and infinities; it takes
numbers below the least normal one for 0, so that what may be one is multiplied by 2²⁴ first. Other
reciprocal roots are quotients (`lower-math-to-intrinsics`).
"""

from mlirad.analysis.normal_numbers import LEAST_NORMAL, is_normal
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.fast_math import allows
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import before, defining_op, operations, replace

_INSTRUCTION = "amdgcn.rsq"


def lower_reciprocal_roots(root: ir.Operation) -> None:
    """Replace reciprocal square roots of f32 by an instruction of AMD GPUs, if `afn` allows it."""
    estimated = [(op, _radicand(op)) for op in operations(root) if _may_estimate(op)]
    for op, radicand in estimated:
        if radicand is not None:
            with before(op):
                value = _estimate(radicand)
                if op.name == Arith.DIVF:
                    value = b.mulf(op.operands[0], value, fastmath=op.attributes["fastmath"])
            replace(op, [value])


def _radicand(op: ir.Operation) -> ir.Value | None:
    """Return the radicand of a reciprocal root, None for another op."""
    if op.name == Math.RSQRT:
        return op.operands[0]
    root = defining_op(op.operands[1]) if op.name == Arith.DIVF else None
    is_root = root is not None and root.name == Math.SQRT and _may_estimate(root)
    return root.operands[0] if root is not None and is_root else None


def _estimate(number: ir.Value) -> ir.Value:
    f32 = number.type
    if is_normal(number):
        return b.call_intrinsic(_INSTRUCTION, [number], f32)
    is_small = b.compare_floats(b.OLT, number, b.number(LEAST_NORMAL, f32))
    unit = b.number(1.0, f32)
    factor = b.select(is_small, b.number(2.0**24, f32), unit)
    reciprocal = b.call_intrinsic(_INSTRUCTION, [b.mulf(number, factor)], f32)
    return b.mulf(reciprocal, b.select(is_small, b.number(2.0**12, f32), unit))


def _may_estimate(op: ir.Operation) -> bool:
    if op.name not in (Arith.DIVF, Math.RSQRT, Math.SQRT):
        return False
    return isinstance(op.results[0].type, ir.F32Type) and allows(op, "afn")
