"""Mark the steps of a derivative, behind the sweep that makes them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import DERIVATIVE, is_marked, mark_unmarked
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, defining_op, has_uses, operations


def mark_steps(function: ir.Operation) -> None:
    """Mark the float ops that have no mark as steps of a derivative.

    Sums with opposites become differences: `canonicalize` does the same, and drops the marks.
    """
    for op in list(operations(function)):
        if op.name == Arith.ADDF and not is_marked(op):
            _subtract(op)
    mark_unmarked(function, DERIVATIVE)


def _subtract(sum_: ir.Operation) -> None:
    left, right = sum_.operands
    for value, other in ((right, left), (left, right)):
        opposite = defining_op(value)
        if opposite is not None and opposite.name == Arith.NEGF:
            with before(sum_):
                difference = b.subf(other, opposite.operands[0])
            sum_.results[0].replace_all_uses_with(difference)
            sum_.erase()
            if not has_uses(value):
                opposite.erase()
            return
