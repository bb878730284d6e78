"""Make two functions of the one that gives the sine and the cosine of a number.

Nothing is assumed; no `math.sincos` is left.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, operations, replace


def lower_sine_cosine_pairs(root: ir.Operation) -> None:
    """Replace every `math.sincos` by `math.sin` and `math.cos`."""
    for op in [op for op in operations(root) if op.name == Math.SINCOS]:
        (angle,) = op.operands
        flags = {name: op.attributes[name] for name in op.attributes if name == "fastmath"}
        with before(op):
            values = [b.make(name, angle.type, [angle], **flags) for name in (Math.SIN, Math.COS)]
        replace(op, values)
