"""Parallel loops of fewer iterations, each of which strides over the box."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import box_indices, box_size
from mlirad.ir.gpu.blocks import BLOCK_DIM
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import at_end, before, block_operations, constant_integer

STRIDING_THREADS = 1 << 17  # about as many as a large GPU holds at once


def one_axis(count: ir.Value) -> Parallel:
    """A parallel loop from 0 to a count, empty, made at the insertion point."""
    loop = b.parallel_loop([b.index(0)], [count], [b.index(1)])
    with at_end(loop.body, ir.Location.current):
        b.end_parallel()
    return loop


def stride(loop: ir.Operation, threads: ir.Value) -> Parallel:
    """Replace a parallel loop by one of so many iterations, the k-th of which takes the k-th of the
    box, the one that is `threads` behind it, and so on."""
    with before(loop):
        outer = one_axis(threads)
    if BLOCK_DIM in loop.attributes:
        outer.op.attributes[BLOCK_DIM] = loop.attributes[BLOCK_DIM]
    number, many = outer.indices[0], constant_integer(threads)
    end = block_operations(outer.body)[-1]
    with before(end):
        extents, total = box_size(loop)
        if many is None or many != constant_integer(total):
            inner = b.for_loop(number, total, threads)
            number = inner.induction
            with at_end(inner.body, loop.location):
                b.yield_()
            end = block_operations(inner.body)[-1]
    with before(end):
        indices = box_indices(loop, extents, number)
    body = loop.regions[0].blocks[0]
    for op in block_operations(body)[:-1]:
        op.move_before(end)
    for old, new in zip(body.arguments, indices):
        old.replace_all_uses_with(new)
    loop.erase()
    return outer
