"""Loops of which the iterations sum over elements that all of them read."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from mlirad.analysis.contractions.thread_products import is_large, is_quiet
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_load, is_write, split_access
from mlirad.ir.gpu.partial_sums import PartialSums
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.structured import For, Parallel, is_for
from mlirad.ir.walk import (
    array_root,
    before,
    block_operations,
    constant_integer,
    defining_op,
    is_defined_in,
    operations,
)
from mlirad.passes.gpu.split_pair_sums.pair_code import Cut, PairCode

_ROWS = 4  # iterations of a thread
_MOST_OPERATIONS = 80  # of a term
_BLOCKS = 4096  # some for each place that a large GPU has for them
_LEAST_PART = 1024  # trips of a part of a sum
_MOST_PARTS = 32
_LEAST_ITERATIONS = 1024
_NUMBERS = ("f16", "f32", "f64", "i32", "i64")


class PairSum(msgspec.Struct, frozen=True, eq=False):
    """A serial loop of an iteration, and the elements that it reads by its own index alone."""

    loop: ir.Operation
    nest: For
    shared: list[ir.Operation]


def split_sums(module: ir.Operation, loop: ir.Operation, least: int) -> None:
    """Make the sums of a loop in front of it, if they are such and that pays."""
    sum_ = pair_sum(loop)
    trips = [span.trips for span in spans(loop)]
    if sum_ is None or None in trips:
        return
    iterations = prod(trip for trip in trips if trip is not None)
    length = spans(sum_.nest.op)[0].trips or 0
    if iterations < _LEAST_ITERATIONS or length < _LEAST_PART or iterations * length < least:
        return
    blocks = -(-iterations // (PairCode.THREADS * _ROWS))
    shares = max(1, min(-(-_BLOCKS // blocks), length // _LEAST_PART, _MOST_PARTS))
    partial_sums = PartialSums(module, loop, sum_.nest.op, shares)
    with before(loop):
        PairCode(loop, sum_.nest, sum_.shared, Cut(_ROWS, shares), partial_sums).emit()
    partial_sums.add_up(is_checked=False)


def pair_sum(loop: ir.Operation) -> PairSum | None:
    """Return the sum over pairs that a loop is, or None if that is not certain."""
    body = block_operations(Parallel(loop).body)[:-1]
    nest = next(op for op in body if is_for(op))
    in_front = body[: body.index(nest)]
    if any(is_write(op) or is_large(op) for op in in_front) or not is_quiet(nest):
        return None
    ops = block_operations(For(nest).body)
    bounds = list(nest.operands)[:3]
    if len(ops) > _MOST_OPERATIONS or any(constant_integer(value) is None for value in bounds):
        return None
    if any(is_for(op) for op in operations(nest)) or not _sums(For(nest), ops[-1]):
        return None
    loads = [op for op in operations(nest) if is_load(op)]
    written = {array_root(split_access(op)[0]) for op in operations(loop) if is_write(op)}
    is_shared = all(
        op in ops
        and array_root(split_access(op)[0]) not in written
        and str(op.results[0].type) in _NUMBERS
        and _is_named_by(split_access(op)[1], For(nest), loop)
        for op in loads
    )
    return PairSum(loop, For(nest), loads) if is_shared and loads else None


def _sums(nest: For, end: ir.Operation) -> bool:
    """Return whether a loop adds to each value that it carries, in any order, and does nothing else
    with it."""
    for carried, total in zip(nest.carried, end.operands):
        step, uses = defining_op(total), list(carried.uses)
        if step is None or step.name != Arith.ADDF or is_bound(step) or len(uses) != 1:
            return False
        if uses[0].owner.operation != step or len(list(total.uses)) != 1:
            return False
    return True


def _is_named_by(indices: Sequence[ir.Value], nest: For, loop: ir.Operation) -> bool:
    """Return whether indices are computed of that of a serial loop, and of nothing else that
    iterations of the loop around it differ in."""
    pending, has_index = list(indices), False
    while pending:
        value = pending.pop()
        op = defining_op(value)
        if value == nest.induction:
            has_index = True
        elif is_defined_in(value, loop):
            if op is None or not is_pure(op):
                return False
            pending += op.operands
    return has_index
