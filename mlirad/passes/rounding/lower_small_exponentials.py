"""`exp(x) - 1` where no library has it, as exact near 0 as elsewhere.

Before: `math.expm1`, of which upstream makes the difference. After: `tanh(x / 2) (exp(x) + 1)`,
which is the same, and loses no digits.
"""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Math
from mlirad.ir.walk import before, operations


def lower_small_exponentials(root: ir.Operation) -> None:
    """Lower `math.expm1` to a product."""
    for op in [op for op in operations(root) if op.name == Math.EXPM1]:
        (value,), type_ = op.operands, op.results[0].type
        with before(op):
            product = _product(value, type_)
        op.results[0].replace_all_uses_with(product)
        op.erase()


def _product(value: ir.Value, type_: ir.Type) -> ir.Value:
    half = b.mulf(value, b.number(0.5, type_))
    tangent = b.make(Math.TANH, type_, [half])
    power = b.make(Math.EXP, type_, [value])
    more = b.addf(power, b.number(1.0, type_))
    return b.mulf(tangent, more)
