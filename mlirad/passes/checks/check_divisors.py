"""Refuse integer divisions by a constant 0, which have no value."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import INTEGER_DIVISIONS, Arith
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import defining_op, operations


def check_divisors(root: ir.Operation) -> None:
    """Refuse integer divisions of numbers, vectors and tensors by a constant 0."""
    for op in operations(root):
        if op.name in INTEGER_DIVISIONS and _has_zero(op.operands[1]):
            refuse(op, "an integer division by 0")


def _has_zero(divisor: ir.Value) -> bool:
    op = defining_op(divisor)
    if op is None or op.name != Arith.CONSTANT:
        return False
    value = op.attributes["value"]
    if isinstance(value, ir.IntegerAttr):
        return ir.IntegerAttr(value).value == 0
    if not isinstance(value, ir.DenseIntElementsAttr):
        return False
    elements = ir.DenseIntElementsAttr(value)
    return any(elements[k] == 0 for k in range(1 if elements.is_splat else len(elements)))
