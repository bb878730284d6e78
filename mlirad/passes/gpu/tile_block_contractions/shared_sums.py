"""Sums that several iterations share out: every so many-th product to each of them."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import linear_form
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_write, split_access
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.gpu.box_points import Values
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import Parallel, is_for
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    clone,
    constant_integer,
    defining_op,
    enclosing,
    is_zero,
    operations,
)

_SEGMENTS = "operandSegmentSizes"


def unshared(loop: ir.Operation) -> ir.Operation | None:
    """A copy of a loop in front of it, of which an iteration makes all of a sum that several share;
    None where none does."""
    box = Parallel(loop)
    axis = next((axis for axis, index in enumerate(box.indices) if _is_share(loop, index)), None)
    if axis is None:
        return None
    axes = [number for number in range(box.rank) if number != axis]
    marks = attributes_of(loop)
    del marks[_SEGMENTS]
    with before(loop):
        zero, single = b.index(0), b.index(1)
        lower, upper, steps = (
            [values[a] for a in axes] for values in (box.lower, box.upper, box.steps)
        )
        copy = b.parallel_loop(lower, upper, steps, marks)
    values: Values = {box.indices[a]: index for a, index in zip(axes, copy.indices)}
    values[box.indices[axis]] = zero
    with at_end(copy.body, loop.location):
        for op in block_operations(box.body):
            clone(op, values)
    for op in operations(copy.op):
        if is_for(op) and _adds(op.operands[0], zero):
            op.operands[0], op.operands[2] = _without(op.operands[0], zero), single
        elif is_atomic(op) and _is_alone(op, copy.indices):
            op.attributes[PLAIN_MARK] = ir.UnitAttr.get()
    return copy.op


def _is_alone(update: ir.Operation, indices: Sequence[ir.Value]) -> bool:
    """Return whether each iteration updates another element."""
    places = split_access(update)[1]
    forms = [linear_form(place) for place in places]
    return all(
        any(form.coefficient(index) and len(form.terms) == 1 for form in forms) for index in indices
    )


def _is_share(loop: ir.Operation, index: ir.BlockArgument) -> bool:
    """Return whether an index is that of a share: the first trip of one serial loop, which takes as
    many trips at once as there are shares; what it sums is added to elements, and nothing else is
    written."""
    span, count = spans(loop)[index.arg_number], Parallel(loop).upper[index.arg_number]
    sums = [op for op in operations(loop) if is_for(op) and _adds(op.operands[0], index)]
    is_used_once = len(list(index.uses)) == len(sums) == 1
    if not is_used_once or span.low != 0 or span.step != 1:
        return False
    step = bounds_of(sums[0])[0].step
    is_every = step == count or (span.trips and constant_integer(step) == span.trips)
    return bool(is_every) and all(_adds_sum(op, loop) for op in operations(loop) if is_write(op))


def _adds_sum(update: ir.Operation, loop: ir.Operation) -> bool:
    """Return whether an update adds what a serial loop of an iteration sums, and nothing else."""
    if not is_atomic(update) or atomic_kind(update) != AtomicKind.ADD or is_bound(update):
        return False
    nest = defining_op(update.operands[0])
    return (
        nest is not None and is_for(nest) and enclosing(nest) == loop and is_zero(nest.operands[3])
    )


def _adds(first: ir.Value, share: ir.Value) -> bool:
    """Return whether a number is a share, or the sum of it and of something else."""
    op = defining_op(first)
    return first == share or (
        op is not None and op.name == Arith.ADDI and share in list(op.operands)
    )


def _without(first: ir.Value, share: ir.Value) -> ir.Value:
    op = defining_op(first)
    if first == share or op is None:
        return first
    return next(operand for operand in op.operands if operand != share)
