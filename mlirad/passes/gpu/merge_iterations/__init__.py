"""Threads that take 16 bytes at a time of what large loops stream through.

A parallel loop that does little with elements that lie next to those of its neighbors is bound by
how many bytes are on the way: of f32, a thread takes four iterations, and LLVM makes vector
accesses of theirs (`streams.py`). Where iterations read the elements of their neighbors, as those
of a stencil do, or begin and end anywhere in a row, a thread takes those of 16 aligned bytes
(`neighbours.py`).

Assumes marked updates, trees that start at multiples of 16 bytes, and that iterations of a parallel
loop may run in any order. Sums that decisions are made of keep the order of their terms, which has
to be the same in every mode of a kernel.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field_layout import layouts
from mlirad.ir.box import bounds_of
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import block_operations, constant_integer, entry_of, functions
from mlirad.passes.gpu.merge_iterations.neighbours import merge_neighbours
from mlirad.passes.gpu.merge_iterations.streams import Stream, merge_stream
from mlirad.passes.gpu.merge_iterations.whole_rows import Rows

_LEAST_TRIPS = 1 << 18  # iterations: about as many threads as a large GPU holds at once

REQUIRES = KERNELS


def merge_iterations(module: ir.Operation) -> None:
    """If a large loop streams through arrays, let a thread handle 16 bytes of adjacent elements."""
    rows = Rows(layouts(module))
    for function in functions(module):
        if not is_private(function):
            for op in free_loops(block_operations(entry_of(function))):
                trips = _trips(op)
                if trips >= _LEAST_TRIPS:
                    _merge(Parallel(op), rows, trips)


def _merge(loop: Parallel, rows: Rows, trips: int) -> None:
    count = Stream(loop, rows).count()
    if count > 1:
        merge_stream(loop, count)
    else:
        merge_neighbours(loop, rows, trips)


def _trips(loop: ir.Operation) -> int:
    """Return how many iterations a loop has whose last axis has steps of 1; 0 if they are not
    known."""
    trips, step = 1, None
    for lower, upper, step in (map(constant_integer, axis) for axis in bounds_of(loop)):
        if lower is None or upper is None or step is None:
            return 0
        trips *= max(0, -(-(upper - lower) // step))
    return trips if step == 1 else 0
