"""A copy for every thread of what few elements a parallel loop updates, and a launch that adds the
copies up: no atomics that wait for one another, and one order.

Assumes `split-axis-reductions`, and that iterations of a parallel loop may run in any order. Where
a loop makes many more updates than the copies have elements, it becomes one of a bounded number of
threads that stride over its box, if it is not yet; copies are as in registers, a column for each
thread. Sums that decisions are made of stay: how often a loop updates differs from mode to mode.
"""

from __future__ import annotations

from math import prod

from mlirad.analysis.cells import Group, accesses_by_array
from mlirad.analysis.trips import UNKNOWN, spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicKind, array_of, atomic_kind, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.box import box_digits
from mlirad.ir.gpu.accumulator import LAST_BLOCK, Accumulator, first_thread, sums_of_parts
from mlirad.ir.gpu.blocks import (
    FILLING_BLOCKS,
    MOST_THREADS,
    WHOLE_BLOCKS,
    block_number,
    block_size,
    free_loops,
    thread_number,
    threads_in_blocks,
)
from mlirad.ir.gpu.striding import stride
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK, Reduction
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel, is_for, is_while
from mlirad.ir.walk import (
    ancestors,
    at_end,
    at_start,
    before,
    block_operations,
    entry_of,
    functions,
    has_uses,
)

REQUIRES = KERNELS

_THREADS = 1 << 15
_MANY = 1 << 14  # copies, which a block of the most threads adds up
_MOST_ELEMENTS = 1 << 24  # of all copies of an array
_WORTH = 4  # updates for each element of the copies


def insert_thread_copies(module: ir.Operation) -> None:
    """Give every thread its own copy of small arrays that are updated often."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in free_loops(block_operations(entry_of(function))):
            trips = prod(span.trips or 0 for span in spans(loop))
            is_cut = WHOLE_BLOCKS in loop.attributes
            if is_cut and not trips:
                trips = FILLING_BLOCKS * (block_size(loop) or 0)
            threads = trips if is_cut else min(trips, _THREADS)
            candidates = [
                _CopiedArray(name, group, threads)
                for name, group in accesses_by_array(loop).items()
                if isinstance(name, str) and _is_one_sum(group)
            ]
            chosen = [candidate for candidate in candidates if candidate.is_worth_it(loop, trips)]
            if chosen:
                thread_loop = loop if is_cut else stride(loop, _index_before(loop, threads)).op
                for candidate in chosen:
                    candidate.run(module, thread_loop)


def _index_before(loop: ir.Operation, number: int) -> ir.Value:
    with before(loop):
        return b.index(number)


def _is_one_sum(group: Group) -> bool:
    """Return whether all accesses of an array are atomics of one kind, in any order."""
    if not all(is_atomic(op) and not has_uses(op.results[0]) for op, _ in group):
        return False
    kinds = {atomic_kind(op) for op, _ in group}
    marks = (PLAIN_MARK, REDUCE_MARK)
    marked = any(is_exact(op) or any(m in op.attributes for m in marks) for op, _ in group)
    return len(kinds) == 1 and kinds != {AtomicKind.EXCHANGE} and not marked


class _CopiedArray:
    """An array, and copies of it, for that many threads or fewer."""

    def __init__(self, name: str, group: Group, threads: int) -> None:
        self.name, self.threads = name, threads
        self.updates = [op for op, _ in group]
        first = self.updates[0]
        self.array, indices = split_access(first)
        self.extents = array_of(self.array.type)[1]
        kind, type_ = atomic_kind(first), first.operands[0].type
        self.sum = Accumulator(Reduction(kind, self.array, indices, type_, self.updates))

    def is_worth_it(self, loop: ir.Operation, trips: int) -> bool:
        """Return whether the loop makes many more updates than copies have elements."""
        size = prod(self.extents) * self.threads
        update_count = trips * sum(_times(op, loop) for op in self.updates)
        return 0 < size <= _MOST_ELEMENTS and update_count >= _WORTH * size

    def run(self, module: ir.Operation, loop: ir.Operation) -> None:
        """Have the threads of a loop update their copies, and add these up behind it."""
        type_ = self.array.type
        with before(loop):
            copies = scratch(module, self.sum.type, [prod(self.extents) * self.threads])
        body = Parallel(loop).body
        thread = Parallel(loop).indices[0]
        for op in self.updates:
            with before(op):
                at = self._place_of(self._number(split_access(op)[1]), thread)
                value = self.sum.widen(op.operands[0])
                field.store(self.sum.combine(field.load(copies, [at]), value), copies, [at])
            op.erase()
        with at_start(body, loop.location):
            every = b.for_loop(b.index(0), b.index(prod(self.extents)), b.index(1))
            with at_end(every.body, loop.location):
                field.store(self.sum.neutral(), copies, [self._place_of(every.induction, thread)])
                b.yield_()
        with ir.InsertionPoint.after(loop), loop.location:
            self._add_up(copies, field.get(self.name, type_), Parallel(loop).upper[0])

    def _number(self, indices: list[ir.Value]) -> ir.Value:
        """The number of an element, counted in row-major order."""
        number = b.index(0)
        for index, extent in zip(indices, self.extents):
            number = b.add(b.mul(number, b.index(extent)), index)
        return number

    def _place_of(self, number: ir.Value, thread: ir.Value) -> ir.Value:
        return b.add(b.mul(number, b.index(self.threads)), thread)

    def _add_up(self, copies: ir.Value, array: ir.Value, count: ir.Value) -> None:
        """A launch of a block for every element, for so many copies."""
        width = LAST_BLOCK if self.threads < _MANY else MOST_THREADS
        threads = threads_in_blocks(b.index(prod(self.extents) * width), width)
        with at_end(threads.body, ir.Location.current):
            number, thread = block_number(), thread_number()
            totals = sums_of_parts(
                [self.sum],
                thread,
                count,
                b.index(width),
                lambda k: [field.load(copies, [self._place_of(number, k)])],
            )
            with first_thread([self.sum], totals) as (total,):
                indices = box_digits(number, [b.index(extent) for extent in self.extents])
                marks = {PLAIN_MARK: ir.UnitAttr.get(), **self.sum.marks}
                field.atomic(self.sum.narrow(total), array, indices, self.sum.kind, marks)
            b.end_parallel()


def _times(op: ir.Operation, loop: ir.Operation) -> int:
    """Return how often an iteration of a loop is expected to run an op, without its branches."""
    times = 1
    for owner in ancestors(op, loop):
        if is_for(owner):
            times *= spans(owner)[0].expected_trips
        elif is_while(owner):
            times *= UNKNOWN
    return times
