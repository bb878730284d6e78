"""Compare where an operation asks whether a float is an infinity, or is normal: upstream lowers
neither.

Nothing is assumed; no `math.isinf` and no `math.isnormal` of numbers or of vectors is left.
"""

from __future__ import annotations

from math import inf

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, operations, replace

_LEAST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}


def lower_float_classes(root: ir.Operation) -> None:
    """Replace `math.isinf` and `math.isnormal` by comparisons of the absolute value."""
    for op in [op for op in operations(root) if op.name in (Math.ISINF, Math.ISNORMAL)]:
        (value,) = op.operands
        least = _LEAST_NORMAL.get(str(b.element_of(value.type)))
        if least is not None:
            with before(op):
                replace(op, [_test(op, value, least)])


def _test(op: ir.Operation, value: ir.Value, least: float) -> ir.Value:
    size, infinity = b.make(Math.ABSF, value.type, [value]), b.number(inf, value.type)
    if op.name == Math.ISINF:
        return b.compare_floats(b.OEQ, size, infinity)
    is_large = b.compare_floats(b.OGE, size, b.number(least, value.type))
    return b.andi(is_large, b.compare_floats(b.OLT, size, infinity))
