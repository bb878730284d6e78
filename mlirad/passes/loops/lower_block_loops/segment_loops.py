"""The segments of the code of a block: each is a loop over its threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import THREADS
from mlirad.ir.structured import For
from mlirad.ir.walk import at_end, before, block_operations
from mlirad.passes.loops.lower_block_loops.thread_arrays import ThreadArrays

ValueAndArray = tuple[ir.Value, ir.Value]  # a value, and the array that it is written to


class Block(NamedTuple):
    """A block of threads: the loop over blocks, the op in front of which its code stands, how many
    threads it has, the number of the first, how many all blocks have unless each is full, and what
    stands for the number of a thread in its block until it has one."""

    loop: ir.Operation
    end: ir.Operation
    size: int
    first: ir.Value
    limit: ir.Value | None
    thread: ir.Value


class Segment(msgspec.Struct, frozen=True, eq=False):
    """A loop over threads, and the op in front of which what each does stands."""

    loop: For
    end: ir.Operation


class SegmentLoops:
    """Makes the segments of a block, for the threads that run what is around."""

    def __init__(self, block: Block, arrays: ThreadArrays, *, is_marked: bool) -> None:
        self.block, self.arrays, self._is_marked = block, arrays, is_marked
        self.segments: list[Segment] = []
        self._masks: list[ir.Value] = []  # of what is around: which threads run it

    @contextmanager
    def masked(self, mask: ir.Value) -> Iterator[None]:
        """Have only the threads run for which the flags of an array hold."""
        self._masks.append(mask)
        try:
            yield
        finally:
            self._masks.pop()

    def make(
        self,
        pending: Sequence[ir.Operation],
        end: ir.Operation,
        values: Sequence[ValueAndArray] = (),
        flag: ValueAndArray | None = None,
    ) -> None:
        """Make a segment of operations, which keeps some values at its end. A flag is kept of all
        threads: it does not hold for those that do not run here."""
        if not pending and not values and flag is None:
            return
        size, flags = b.index, [flag] if flag is not None else []
        with before(end):
            loop = b.for_loop(size(0), size(self.block.size), size(1))
        if self._is_marked:
            loop.op.attributes[THREADS] = ir.UnitAttr.get()
        with at_end(loop.body, end.location):
            b.yield_()
        (last,) = block_operations(loop.body)
        inner = self._guard(loop, last, [array for _, array in flags])
        for op in pending:
            op.move_before(inner)
        with before(inner):
            for value, array in (*values, *flags):
                self.arrays.write(value, array, loop.induction)
        self.segments.append(Segment(loop, inner))

    def _guard(self, loop: For, last: ir.Operation, flags: Sequence[ir.Value]) -> ir.Operation:
        """Open what only the threads that run here do; clear flags of the others."""
        with before(last):
            condition = self._condition(loop.induction)
            for array in flags:
                self.arrays.write(b.number(0, b.integer_type(1)), array, loop.induction)
            if condition is None:
                return last
            guard = b.if_else(condition, [], with_else=False)
        with at_end(guard.then, last.location):
            b.yield_()
        return block_operations(guard.then)[-1]

    def _condition(self, thread: ir.Value) -> ir.Value | None:
        if self._masks:
            return self.arrays.load(self._masks[-1], thread)
        if self.block.limit is None:
            return None
        return b.compare(b.SLT, b.add(self.block.first, thread), self.block.limit)

    def any(self, mask: ir.Value) -> ir.Value:
        """Return whether a flag of any thread holds, at the insertion point."""
        threads = b.for_loop(
            b.index(0), b.index(self.block.size), b.index(1), [b.number(0, b.integer_type(1))]
        )
        with at_end(threads.body, ir.Location.current):
            b.yield_([b.ori(threads.carried[0], self.arrays.load(mask, threads.induction))])
        return threads.results[0]
