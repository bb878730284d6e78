"""Fuse products with the sums that use them, where `mark-rounding` said so.

Assumes a target with a fused multiply-add, and that nothing but sums uses a product marked
`field.fused`. Afterwards no op is marked so.
"""

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import EXACT, FUSED, is_exact
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, has_uses, operations


def merge_products(root: ir.Operation) -> None:
    """Merge a product and the sum that uses it into `math.fma`, which rounds once."""
    for product in [op for op in operations(root) if FUSED in op.attributes]:
        for use in list(product.results[0].uses):
            user = use.owner.operation
            if user.name in (Arith.ADDF, Arith.SUBF) and is_exact(user):
                _merge(product, user, use.operand_number)
        if has_uses(product.results[0]):
            del product.attributes[FUSED]
            product.attributes[EXACT] = ir.UnitAttr.get()
        else:
            product.erase()


def _merge(product: ir.Operation, user: ir.Operation, position: int) -> None:
    exact = {EXACT: ir.UnitAttr.get()}
    left, right = product.operands
    other = user.operands[1 - position]
    with before(user):
        if user.name == Arith.SUBF and position == 0:
            other = b.negf(other, **exact)
        elif user.name == Arith.SUBF:
            left = b.negf(left, **exact)
        value = b.fma(left, right, other, **exact)
    user.results[0].replace_all_uses_with(value)
    user.erase()
