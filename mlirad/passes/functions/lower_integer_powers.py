"""Make powers of floats of those with constant integers.

Nothing is assumed. What is left of `math.fpowi` has an exponent that only a run knows, or one that
no float of the base's type is; upstream's `convert-math-to-funcs` makes loops of these.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, constant_integer, operations, replace

LARGEST = 1 << 11  # all integers up to it are floats of 16 bits


def lower_integer_powers(root: ir.Operation) -> None:
    """Replace `math.fpowi` by `math.powf` if the exponent is constant."""
    for op in [op for op in operations(root) if op.name == Math.FPOWI]:
        base, exponent = op.operands
        number = constant_integer(exponent)
        if number is None or abs(number) > LARGEST or not b.is_float(base.type):
            continue
        flags = {name: op.attributes[name] for name in op.attributes if name == "fastmath"}
        with before(op):
            power = b.make(Math.POWF, base.type, [base, b.number(number, base.type)], **flags)
        replace(op, [power])
