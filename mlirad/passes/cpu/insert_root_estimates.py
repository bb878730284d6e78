"""Quotients of f32 by square roots as products with the processor's estimate of the reciprocal
root, refined.

Assumes fast-math flags, and fused multiply-adds. A quotient that may be a product with a reciprocal
is replaced; so is the root itself, where it may be estimated. LLVM's refinement of the estimate (12
bits on x86) by one step of Newton's is more than 2 units in the last place off, and two steps take
eight operations. One of third order takes five, and is as good as a root and a quotient:
`y + y e (1/2 + 3/8 e)` with `e = 1 - x y²`. Functions then say that LLVM is not to refine, so that
nothing else may be made a product with a reciprocal: LLVM would find roots in powers, and behind
other quotients.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.fast_math import allows, fast_math, forbid
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import before, functions, has_uses, operations, replace

_SEED = "field.seed"  # an estimate that is refined
_ATTRIBUTES = "llvm.passthrough"  # of LLVM's function
_UNREFINED = '[["reciprocal-estimates", "sqrtf:0,vec-sqrtf:0"]]'


def insert_root_estimates(module: ir.Operation) -> None:
    """Replace divisions by square roots by products with an estimate of the reciprocal square
    root."""
    roots = [op for op in operations(module) if op.name in (Math.SQRT, Math.RSQRT)]
    estimated = [root for root in roots if _is_single(root) and _is_reciprocal(root)]
    if not estimated:
        return
    for function in functions(module):
        function.attributes[_ATTRIBUTES] = ir.Attribute.parse(_UNREFINED)
    for root in estimated:
        _estimate(root)
    for quotients in _with_one_divisor(module):
        _share(quotients)
    for op in operations(module):
        if _SEED in op.attributes:
            del op.attributes[_SEED]
        else:
            forbid(op, "arcp")


def _is_single(root: ir.Operation) -> bool:
    return isinstance(b.element_of(root.results[0].type), ir.F32Type)


def _is_reciprocal(root: ir.Operation) -> bool:
    """Return whether a product with its reciprocal may stand for something."""
    return allows(root, "afn") if root.name == Math.RSQRT else bool(_quotients(root))


def _quotients(root: ir.Operation) -> list[ir.Operation]:
    """The quotients by a root that may be products."""
    uses = [(use.owner.operation, use.operand_number) for use in root.results[0].uses]
    return [
        op
        for op, position in uses
        if op.name == Arith.DIVF and position == 1 and allows(op, "arcp")
    ]


def _estimate(root: ir.Operation) -> None:
    """Use the reciprocal of a root, and where that may be, give the root by it."""
    radicand = root.operands[0]
    with before(root):
        reciprocal = _refine(radicand)
    for quotient in _quotients(root):
        with before(quotient):
            replace(quotient, [_product(quotient.operands[0], reciprocal, quotient)])
    if root.name == Math.RSQRT:
        replace(root, [reciprocal])
    elif allows(root, "afn") and has_uses(root.results[0]):
        with before(root):
            replace(root, [_product(radicand, reciprocal, root)])
    elif not has_uses(root.results[0]):
        root.erase()


def _with_one_divisor(module: ir.Operation) -> list[list[ir.Operation]]:
    """The quotients in one block, by one divisor, that may be products."""
    quotients_by_divisor: dict[ir.Value, list[ir.Operation]] = {}
    for op in operations(module):
        if op.name == Arith.DIVF and _SEED not in op.attributes and allows(op, "arcp"):
            same_divisor = quotients_by_divisor.setdefault(op.operands[1], [])
            if not same_divisor or same_divisor[0].block == op.block:
                same_divisor.append(op)
    return [quotients for quotients in quotients_by_divisor.values() if len(quotients) > 1]


def _share(quotients: list[ir.Operation]) -> None:
    """Divide once. LLVM would, were it not told to leave reciprocals alone."""
    first = quotients[0]
    type_ = first.results[0].type
    with before(first):
        operands = [b.number(1.0, type_), first.operands[1]]
        reciprocal = b.divf(*operands, fastmath=first.attributes["fastmath"])
    for quotient in quotients:
        with before(quotient):
            replace(quotient, [_product(quotient.operands[0], reciprocal, quotient)])


def _refine(radicand: ir.Value) -> ir.Value:
    """The reciprocal root, from an estimate."""
    type_ = radicand.type
    root = b.sqrt(radicand)
    flags = {"fastmath": fast_math(["arcp"]), _SEED: ir.UnitAttr.get()}
    estimate = b.divf(b.number(1.0, type_), root, **flags)
    square = b.mulf(radicand, estimate)
    opposite = b.negf(square)
    error = b.fma(opposite, estimate, b.number(1.0, type_))
    factor = b.fma(error, b.number(0.375, type_), b.number(0.5, type_))
    return b.fma(b.mulf(estimate, error), factor, estimate)


def _product(left: ir.Value, right: ir.Value, op: ir.Operation) -> ir.Value:
    return b.mulf(left, right, fastmath=op.attributes["fastmath"])
