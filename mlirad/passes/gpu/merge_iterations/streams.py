"""Loops whose iterations touch elements of their own, in rows that are whole numbers of vectors."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_access, is_atomic, is_load, split_access
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import at_start, before, block_operations, constant_integer
from mlirad.passes.gpu.merge_iterations.whole_rows import WIDEST, Rows

_MOST_OPS = 64


class Stream:
    """A parallel loop, as seen along its last axis."""

    def __init__(self, loop: Parallel, rows: Rows) -> None:
        self.loop, self.rows = loop, rows
        self.ops = block_operations(loop.body)[:-1]
        self.varying: set[ir.Value] = {loop.indices[-1]}
        for op in self.ops:
            if is_access(op) or any(value in self.varying for value in op.operands):
                self.varying.update(op.results)

    def count(self) -> int:
        """Return how many iterations touch 16 bytes of each stream; 1 if there is none, or anything
        else."""
        extent = constant_integer(self.loop.upper[-1])
        if extent is None or constant_integer(self.loop.lower[-1]) != 0:
            return 1
        if len(self.ops) > _MOST_OPS or not all(map(_is_plain, self.ops)):
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
        """The bytes of the elements of a field that lie side by side along the axis; None for other
        accesses."""
        array, indices = split_access(op)
        if REDUCE_MARK in op.attributes or not indices:
            return None
        along = indices[-1] == self.loop.indices[-1]
        if not along or any(index in self.varying for index in indices[:-1]):
            return None
        return self.rows.element_size(array)


def _is_plain(op: ir.Operation) -> bool:
    """Return whether an op is arithmetic, or an access that is not atomic among iterations."""
    if is_access(op):
        marks = (PLAIN_MARK, REDUCE_MARK)
        return not is_atomic(op) or any(mark in op.attributes for mark in marks)
    return GetOp.holds(op) or (not op.regions and is_arithmetic(op))


def merge_stream(loop: Parallel, count: int) -> None:
    """Let an iteration along the last axis be a loop of so many."""
    index = loop.indices[-1]
    ops = block_operations(loop.body)[:-1]
    with before(loop.op):
        extent = constant_integer(loop.upper[-1])
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
