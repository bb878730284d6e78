"""All derivative rules, by op name."""

from functools import cache

from mlirad.analysis.rules import arith as _rules_arith
from mlirad.dialect.grad import DetachOp
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.elementary.terms import Operand, Term, leaves

RULES: dict[str, tuple[Term | None, ...]] = {
    **_rules_arith.RULES,
    **{op: function.derivative for op, function in FUNCTIONS.items()},
    DetachOp.OPERATION_NAME: (None,),
}


def primal_reads(name: str, operand: int) -> tuple[tuple[int, ...], bool]:
    """Return which operands' values, and whether the result's value, the derivative in one operand
    reads."""
    return _reads(RULES[name][operand])


@cache
def _reads(term: Term | None) -> tuple[tuple[int, ...], bool]:
    values = list(leaves(term)) if term is not None else []
    positions = sorted({leaf.position for leaf in values if isinstance(leaf, Operand)})
    return tuple(positions), any(not isinstance(leaf, Operand) for leaf in values)
