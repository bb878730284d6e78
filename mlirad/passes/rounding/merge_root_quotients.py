"""Divide once by a square root that may be 0, and multiply by that.

LLVM would take the reciprocal of a divisor that several quotients share, were it not kept from
estimating it: that of 0 is a NaN (`insert-fast-math`). To divide 1 by a root is exact, and cannot
overflow: a root is 0 or far from it. What is 0 divided by 0 stays a NaN, and others stay infinite.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.fast_math import allows
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import before, defining_op, operations


def merge_root_quotients(root: ir.Operation) -> None:
    """Replace several divisions by one square root by products, if derivatives may be rounded so
    and are not estimated."""
    by_root: dict[tuple[ir.Value, ir.Block], list[ir.Operation]] = {}
    for op in operations(root):
        if op.name == Arith.DIVF and allows(op, "reassoc") and not allows(op, "arcp"):
            divisor = defining_op(op.operands[1])
            if divisor is not None and divisor.name == Math.SQRT:
                by_root.setdefault((op.operands[1], op.block), []).append(op)
    for quotients in by_root.values():
        if len(quotients) > 1:
            _share(quotients)


def _share(quotients: list[ir.Operation]) -> None:
    first = quotients[0]
    type_ = first.results[0].type
    with before(first):
        reciprocal = b.divf(b.number(1.0, type_), first.operands[1])
    for quotient in quotients:
        flags = quotient.attributes["fastmath"]
        with before(quotient):
            value = b.mulf(quotient.operands[0], reciprocal, fastmath=flags)
        quotient.results[0].replace_all_uses_with(value)
        quotient.erase()
