"""Threads that take 16 bytes at a time of what large loops stream through.

A parallel loop that does little with elements that lie next to those of its neighbours is bound by
how many bytes are on the way: of f32, a thread takes four iterations, and LLVM makes vector
accesses of theirs. Assumes marked updates, trees that start at multiples of 16 bytes, and that
iterations of a parallel loop may run in any order. Sums that decisions are made of keep the order
of their terms, which has to be the same in every mode of a kernel.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_access, is_atomic, is_load, split_access
from mlirad.dialect.field_layout import FieldLayout, layouts
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import (
    array_root,
    at_start,
    before,
    block_operations,
    constant_integer,
    entry_of,
    functions,
)

WIDEST = 16  # bytes that an instruction loads or stores
_LEAST_TRIPS = 1 << 18  # iterations: about as many threads as a large GPU holds at once
_MOST_OPS = 64

REQUIRES = KERNELS


def merge_iterations(module: ir.Operation) -> None:
    """Let a thread take 16 bytes of neighbouring elements where a large loop streams through
    them."""
    field_layouts = layouts(module)
    for function in functions(module):
        if not is_private(function):
            for op in free_loops(block_operations(entry_of(function))):
                count = _Stream(Parallel(op), field_layouts).count()
                if count > 1:
                    _merge(Parallel(op), count)


class _Stream:
    """A parallel loop, as seen along its last axis."""

    def __init__(self, loop: Parallel, field_layouts: dict[str, FieldLayout]) -> None:
        self.loop, self.layouts = loop, field_layouts
        self.ops = block_operations(loop.body)[:-1]
        self.varying: set[ir.Value] = {loop.indices[-1]}
        for op in self.ops:
            if is_access(op) or any(value in self.varying for value in op.operands):
                self.varying.update(op.results)

    def count(self) -> int:
        """Return how many iterations touch 16 bytes of each stream; 1 if there is none, or anything
        else."""
        extent = _extent(self.loop)
        if extent is None or len(self.ops) > _MOST_OPS or not all(map(_is_plain, self.ops)):
            return 1
        accesses = [op for op in self.ops if is_access(op)]
        sizes = [self._size(op) for op in accesses if not self._is_shared(op)]
        if not sizes or None in sizes:
            return 1
        count = WIDEST // max(size for size in sizes if size is not None)
        return count if extent % count == 0 else 1

    def _is_shared(self, op: ir.Operation) -> bool:
        """Return whether an access is a load of one element all along the axis, or adds to a
        sum."""
        if REDUCE_MARK in op.attributes:
            return not is_exact(op)
        return is_load(op) and not any(i in self.varying for i in split_access(op)[1])

    def _size(self, op: ir.Operation) -> int | None:
        """The bytes of the elements of a field that lie side by side along the axis, in rows that
        begin at multiples of 16 bytes; None for other accesses."""
        array, indices = split_access(op)
        root = array_root(array)
        layout = self.layouts.get(root) if isinstance(root, str) else None
        if layout is None or REDUCE_MARK in op.attributes or not indices:
            return None
        along = indices[-1] == self.loop.indices[-1]
        if not along or any(index in self.varying for index in indices[:-1]):
            return None
        return layout.size if _has_whole_rows(layout) else None


def _has_whole_rows(layout: FieldLayout) -> bool:
    """Return whether elements lie side by side along the last axis, in rows that begin at multiples
    of 16 bytes."""
    if layout.component_shape or len(layout.levels) != layout.rank:
        return False
    *rows, step = layout.element_strides
    return step == layout.size and all(start % WIDEST == 0 for start in (layout.offset, *rows))


def _extent(loop: Parallel) -> int | None:
    """Iterations along the last axis, from 0 on; None if they are not known, or the loop is
    small."""
    bounds = [tuple(map(constant_integer, axis)) for axis in bounds_of(loop.op)]
    trips = 1
    for lower, upper, step in bounds:
        if lower is None or upper is None or step is None:
            return None
        trips *= max(0, -(-(upper - lower) // step))
    return bounds[-1][1] if bounds[-1][::2] == (0, 1) and trips >= _LEAST_TRIPS else None


def _is_plain(op: ir.Operation) -> bool:
    """Return whether an op is arithmetic, or an access that is not atomic among iterations."""
    if is_access(op):
        marks = (PLAIN_MARK, REDUCE_MARK)
        return not is_atomic(op) or any(mark in op.attributes for mark in marks)
    return GetOp.holds(op) or (not op.regions and is_arithmetic(op))


def _merge(loop: Parallel, count: int) -> None:
    """Let an iteration along the last axis be a loop of so many."""
    index = loop.indices[-1]
    ops = block_operations(loop.body)[:-1]
    with before(loop.op):
        upper = loop.upper[-1]
        extent = constant_integer(upper)
        assert extent is not None
        loop.op.operands[2 * loop.rank - 1] = b.index(extent // count)
    with at_start(loop.body, loop.op.location):
        first = b.mul(index, b.index(count))
        inner = b.for_loop(b.index(0), b.index(count), b.index(1))
    with ir.InsertionPoint(inner.body), loop.op.location:
        place = b.add(first, inner.induction)
        b.yield_()
    end = block_operations(inner.body)[-1]
    for op in ops:
        op.move_before(end)
        for position, operand in enumerate(op.operands):
            if operand == index:
                op.operands[position] = place
