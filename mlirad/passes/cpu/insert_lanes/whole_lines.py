"""Iterations in front of the first whose store begins a line of the cache, as far as vectors go.

A vector that does not begin at a multiple of its size lies in two lines: stores of 64 bytes, as in
a loop over the interior of a row, then take twice the accesses.
"""

from __future__ import annotations

from mlirad.analysis.lanes.steps import DYNAMIC, address_step, element_sum
from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.ir.structured import For

_LEAST = 8  # vectors of a loop for which one more, with a mask, pays


def iterations_before_lines(strides: Strides, width: int) -> int:
    """Return how many iterations of a loop come before vectors of its first store to neighboring
    elements are whole lines, or parts of one; 0 where it has few iterations, or that is not
    known."""
    span = spans(strides.loop)[0]
    if span.low is None or span.high is None or span.step != 1:
        return 0
    if span.high - span.low < _LEAST * width:
        return 0
    for op in strides.non_arithmetic:
        start = _start(op, strides, width)
        if start is not None:
            return -(span.low + start) % width
    return 0


def _start(op: ir.Operation, strides: Strides, width: int) -> int | None:
    """The element of a store where the loop's number is 0, but for a multiple of the width."""
    if op.name != Memref.STORE or op.block != For(strides.loop).body:
        return None
    _, memref, *indices = op.operands
    if memref in strides.private or address_step(strides, memref, indices) != 1:
        return None
    steps, offset = ir.MemRefType(memref.type).get_strides_and_offset()
    if offset == DYNAMIC or DYNAMIC in steps:
        return None
    base = element_sum(memref, indices).without(For(strides.loop).induction)
    return None if any(factor % width for _, factor in base.terms) else offset + base.constant
