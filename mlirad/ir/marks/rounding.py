"""Rounding of the float ops of a program, as attributes that every copy of an op keeps.

`field.exact`: as IEEE 754 says. `field.fused`: a product that is not rounded before the op that
uses it adds it. `field.lanes`, beside exact: a step of a sum over a loop, the terms of which go to
16 partial sums in turn (`split-sums`). `field.loose`: a step of a sum over a loop, or what only
such sums are made of: in any order, by estimates. Elementary functions are those of
one library in all modes (`lower-vector-math`). `field.derivative`: a step of a derivative, in any
order, by estimates. An op without a mark is exact. `field.decision`: what it gives jumps where an
operand passes some value. `field.settled`, of a function: what it leaves in memory is not made
again by another mode, so decisions made of it there are the same however it was rounded.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic
from mlirad.ir.elementary.table import FUNCTIONS
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.walk import block_operations, operations, with_inner

EXACT, FUSED, LOOSE, LANES = "field.exact", "field.fused", "field.loose", "field.lanes"
DERIVATIVE = "field.derivative"
DECISION = "field.decision"
SETTLED = "field.settled"
# ops that give floats, and jump, or turn, where an operand passes some value
CHOICES = frozenset(
    {
        Arith.MAXIMUMF,
        Arith.MINIMUMF,
        Arith.MAXNUMF,
        Arith.MINNUMF,
        Arith.REMF,
        *(op for op, function in FUNCTIONS.items() if function.jumps),
    }
)
_KEPT = frozenset({Arith.CONSTANT, Arith.SELECT, Arith.BITCAST, Arith.SITOFP, Arith.UITOFP})


def is_marked(op: ir.Operation) -> bool:
    """Return whether how an op rounds is settled."""
    marks = op.attributes
    return EXACT in marks or FUSED in marks or LOOSE in marks or DERIVATIVE in marks


def is_exact(op: ir.Operation) -> bool:
    """Return whether an op rounds as IEEE 754 says, as one does that has no mark."""
    return EXACT in op.attributes or (computes_floats(op) and not is_marked(op))


def is_of_derivative(op: ir.Operation) -> bool:
    """Return whether an op is a step of a derivative."""
    return DERIVATIVE in op.attributes and EXACT not in op.attributes


def computes_floats(op: ir.Operation) -> bool:
    """Return whether an op, or an update of memory, can round."""
    return rounds(op) or (is_atomic(op) and _is_of_floats(op.results[0].type))


def rounds(op: ir.Operation) -> bool:
    """Return whether an op computes a float that fast-math flags could change."""
    if op.name in _KEPT or not is_arithmetic(op):
        return False
    results = op.results
    return len(results) == 1 and _is_of_floats(results[0].type)


def decides(op: ir.Operation) -> bool:
    """Return whether what an op gives jumps where its floats pass some value."""
    return op.name in CHOICES or (
        is_arithmetic(op)
        and any(_is_of_floats(value.type) for value in op.operands)
        and not any(_is_of_floats(value.type) for value in op.results)
    )


def _is_of_floats(type_: ir.Type) -> bool:
    if isinstance(type_, ir.VectorType):
        type_ = type_.element_type
    return isinstance(type_, ir.FloatType)


def is_bound(op: ir.Operation) -> bool:
    """Return whether an op may not be rounded in another way."""
    return LANES in op.attributes or is_exact(op)


def update_marks(update: ir.Operation) -> dict[str, ir.Attribute]:
    """Return how an update is marked to round."""
    return {
        name: update.attributes[name]
        for name in (EXACT, LOOSE, DERIVATIVE)
        if name in update.attributes
    }


def loose_mark() -> dict[str, ir.Attribute]:
    """Return the mark of steps that are taken in any order."""
    return {LOOSE: ir.UnitAttr.get()}


def round_like(value: ir.Value, update: ir.Operation) -> ir.Value:
    """Let what an update leaves in memory round as the update is marked to."""
    return round_as(value, update_marks(update))


def round_as(value: ir.Value, marks: Mapping[str, ir.Attribute]) -> ir.Value:
    """Let a value, where an op rounds it, have the marks of an update."""
    if not isinstance(value, ir.BlockArgument) and rounds(value.owner.operation):
        for name, mark in marks.items():
            value.owner.operation.attributes[name] = mark
    return value


def mark_unmarked(region: ir.Region, mark: str) -> None:
    """Mark the float ops of a region that have no mark."""
    unit = ir.UnitAttr.get()
    for block in region.blocks:
        for child in block_operations(block):
            for op in with_inner(child):
                if computes_floats(op) and not is_marked(op):
                    op.attributes[mark] = unit


def forget_derivatives(root: ir.Operation) -> None:
    """Take the marks off the steps of a derivative: it becomes a part of the program, which settles
    how they round."""
    for op in operations(root):
        if DERIVATIVE in op.attributes:
            del op.attributes[DERIVATIVE]
