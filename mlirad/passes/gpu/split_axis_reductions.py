"""Elements that all iterations along some axes of a box update, and no others: sums of rows or of
columns, in registers and always in the same order.

Assumes `split-reductions`, and that iterations of a parallel loop may run in any order. Where its
last axis is summed, blocks of threads take a row each, or a part of one if there are few, and add
up what their threads have summed. Otherwise a thread sums along columns, so that neighbors reach
memory together. Parts of a sum go to an array of the launch, which a second launch adds up. Where
extents are known at the launch only, the host chooses how many parts there are; blocks of rows are
warps, for rows may be short. The sums are in slots, for `mem2reg`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

from mlirad.analysis.cells import accesses_by_array, summed_cells
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import longest_chain, spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import atomic_kind, split_access
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_digits, product
from mlirad.ir.gpu.accumulator import (
    LAST_BLOCK,
    Accumulator,
    empty_slots,
    first_thread,
    sums_of_parts,
)
from mlirad.ir.gpu.blocks import (
    BLOCK_DIM,
    WARP,
    block_number,
    block_size,
    free_loops,
    thread_number,
    threads_in_blocks,
)
from mlirad.ir.gpu.iterations import Cells, Iterations
from mlirad.ir.gpu.many_sums import first_sums
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.reductions import Reduction
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    constant_integer,
    entry_of,
    functions,
    is_defined_in,
)

REQUIRES = KERNELS

_THREADS, _BLOCKS = 1 << 18, 1 << 11  # about as many as a large GPU holds at once
_SHORT = 16  # iterations that are better left to one thread
_MOST_ITERATIONS = 1 << 31  # no more blocks than a grid holds


def split_axis_reductions(module: ir.Operation) -> None:
    """Let threads and blocks sum the updates that all iterations along some axes make to an
    element."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in free_loops(block_operations(entry_of(function))):
            trips = [span.trips for span in spans(loop)]
            constants = [trip for trip in trips if trip is not None]
            size = block_size(loop)
            if len(trips) < 2 or size is None or not 0 < prod(constants) < _MOST_ITERATIONS:
                continue
            for kept_axes, sums in _sums_by_axes(loop).items():
                with before(loop):
                    _Split(module, loop, kept_axes, first_sums(sums), trips, size).run()
                break


def _sums_by_axes(loop: ir.Operation) -> dict[tuple[int, ...], list[Accumulator]]:
    """The sums of a loop by the axes that tell their elements apart."""
    indices, meetings = Parallel(loop).indices, Meetings(loop)
    sums_by_axes: dict[tuple[int, ...], list[Accumulator]] = {}
    for root, group in accesses_by_array(loop).items():
        if isinstance(root, ir.Value) and is_defined_in(root, loop):
            continue
        for cell in summed_cells(meetings, group):
            kept_axes = tuple(axis for axis, index in enumerate(indices) if index in cell.names)
            first = cell.updates[0]
            array, place = split_access(first)
            residues = meetings.residues(place)
            if 0 < len(kept_axes) == len(cell.names) < len(indices) and all(
                meetings.are_apart(residues, residues, indices[axis]) for axis in kept_axes
            ):
                kind, type_ = atomic_kind(first), first.operands[0].type
                sum_ = Accumulator(Reduction(kind, array, place, type_, cell.updates))
                sums_by_axes.setdefault(kept_axes, []).append(sum_)
    return sums_by_axes


class _Split:
    """One loop."""

    def __init__(
        self,
        module: ir.Operation,
        loop: ir.Operation,
        kept_axes: tuple[int, ...],
        sums: list[Accumulator],
        trips: list[int | None],
        size: int,
    ) -> None:
        self.module, self.loop, self.kept_axes, self.sums = module, loop, kept_axes, sums
        self.trips = [
            bounds.trips() if constant is None else b.index(constant)
            for bounds, constant in zip(bounds_of(loop), trips)
        ]
        self.size = size
        self.summed = tuple(axis for axis in range(len(trips)) if axis not in kept_axes)
        self.elements = product([self.trips[axis] for axis in kept_axes])
        self.length = product([self.trips[axis] for axis in self.summed])

    def run(self) -> None:
        """Replace the loop, in front of it."""
        length = constant_integer(self.length)
        if self.kept_axes[-1] < len(self.trips) - 1 and (length is None or length > _SHORT):
            self._split_by_rows()
        else:
            self._split_by_columns()
        self.loop.erase()

    def _split_by_rows(self) -> None:
        """A block for every element, or several."""
        length = constant_integer(self.length)
        size = min(self.size, WARP if length is None else -(-length // WARP) * WARP)
        target = _BLOCKS if length is not None else _THREADS // WARP
        part_count = _part_count(self.elements, self.length, target, size)
        buffers = self._buffers(part_count, target)
        blocks = product([self.elements, part_count])
        threads = threads_in_blocks(product([blocks, b.index(size)]), size)
        cells = Cells(self.sums, threads.op)
        with at_end(threads.body, self.loop.location):
            with _block_of(blocks) as block:
                row, number = box_digits(block, [self.elements, part_count])
                places = self._places(self.kept_axes, row)
                first = b.add(b.mul(number, b.index(size)), thread_number())
                slots = self._run(first, product([part_count, b.index(size)]), places)
                with first_thread(self.sums, [b.read(slot) for slot in slots]) as totals:
                    self._leave(totals, buffers, part_count, block, cells, places)
            b.end_parallel()
        self._add_up(cells, buffers, part_count, places, lambda row, p: (row, part_count, p))

    def _split_by_columns(self) -> None:
        """A thread for every element, or several; neighbors have neighboring elements."""
        part_count = _part_count(self.elements, self.length, _THREADS, self._least_length())
        buffers = self._buffers(part_count, _THREADS)
        marks = {BLOCK_DIM: ir.IntegerAttr.get(b.integer_type(64), self.size)}
        elements, count = self.elements, product([self.elements, part_count])
        threads = b.parallel_loop([b.index(0)], [count], [b.index(1)], marks)
        cells = Cells(self.sums, threads.op)
        with at_end(threads.body, self.loop.location):
            thread = threads.indices[0]
            number, column = box_digits(thread, [part_count, elements])
            places = self._places(self.kept_axes, column if buffers else thread)
            slots = self._run(number if buffers else b.index(0), part_count, places)
            totals = [b.read(slot) for slot in slots]
            self._leave(totals, buffers, part_count, thread, cells, places)
            b.end_parallel()
        self._add_up(cells, buffers, part_count, places, lambda row, p: (p, self.elements, row))

    def _least_length(self) -> int:
        """Return how many iterations pay for a part: fewer, where each is a long loop, unless the
        order of the sum has to be the same whatever an iteration does."""
        if any(sum_.reduction.is_exact for sum_ in self.sums):
            return _SHORT
        chain = longest_chain(self.loop)
        return 1 if chain is None else max(1, _SHORT // chain)

    def _buffers(self, part_count: ir.Value, most: int) -> list[ir.Value]:
        """Arrays for the parts of the sums, at most so many, where there may be several."""
        if constant_integer(part_count) == 1:
            return []
        extent = constant_integer(product([self.elements, part_count]))
        extents = [most if extent is None else extent]
        return [scratch(self.module, s.type, extents) for s in self.sums]

    def _places(self, axes: tuple[int, ...], number: ir.Value) -> dict[int, ir.Value]:
        """The indices along some axes in the trip of a number."""
        bounds = bounds_of(self.loop)
        digits = box_digits(number, [self.trips[axis] for axis in axes])
        return {axis: bounds[axis].value(digit) for axis, digit in zip(axes, digits)}

    def _run(self, first: ir.Value, step: ir.Value, places: dict[int, ir.Value]) -> list[ir.Value]:
        """Run every so many-th iteration of an element; the slots of what they add."""
        slots = empty_slots(self.sums)

        def indices(number: ir.Value) -> list[ir.Value]:
            by_axis = {**places, **self._places(self.summed, number)}
            return [by_axis[axis] for axis in range(len(by_axis))]

        iterations = Iterations(self.loop, self.sums, indices)
        length, stride = constant_integer(self.length), constant_integer(step)
        turns = None if length is None or stride is None else -(-length // stride)
        if length is not None and length == stride:
            iterations.run_one(first, slots)
        else:
            iterations.run(first, self.length, step, slots, turns)
        return slots

    def _leave(
        self,
        totals: list[ir.Value],
        buffers: list[ir.Value],
        part_count: ir.Value,
        number: ir.Value,
        cells: Cells,
        places: dict[int, ir.Value],
    ) -> None:
        """Leave sums in their elements, or parts of them in buffers."""
        values = self._index_values(places, places)
        if not buffers:
            cells.update(totals, values)
            return
        if constant_integer(part_count) is None:
            is_whole = b.if_else(b.compare(b.EQ, part_count, b.index(1)), [], with_else=True)
            with at_end(is_whole.then, self.loop.location):
                cells.update(totals, values)
                b.yield_()
            with at_end(is_whole.otherwise, self.loop.location):
                _store(totals, buffers, number)
                b.yield_()
        else:
            _store(totals, buffers, number)

    def _index_values(
        self, places: dict[int, ir.Value], new_places: dict[int, ir.Value]
    ) -> dict[ir.Value, ir.Value]:
        """Return what indices, as the loop had them and as its iterations found them, are here."""
        old = Parallel(self.loop).indices
        values = {old[axis]: new_places[axis] for axis in self.kept_axes}
        return values | {places[axis]: new_places[axis] for axis in self.kept_axes}

    def _add_up(
        self,
        cells: Cells,
        buffers: list[ir.Value],
        part_count: ir.Value,
        places: dict[int, ir.Value],
        address: Callable[[ir.Value, ir.Value], tuple[ir.Value, ir.Value, ir.Value]],
    ) -> None:
        """A launch of a block for every element, which adds up its parts. A part is so many
        elements behind another."""
        if not buffers:
            return
        constant_count, rows = constant_integer(part_count), self.elements
        if constant_count is None:
            several = b.compare(b.SLT, b.index(1), part_count)
            rows = b.select(several, rows, b.index(0))
        size = (
            WARP if constant_count is None else min(LAST_BLOCK, -(-constant_count // WARP) * WARP)
        )
        threads = threads_in_blocks(product([rows, b.index(size)]), size)
        with at_end(threads.body, self.loop.location):
            with _block_of(rows) as row:

                def parts_at(number: ir.Value) -> list[ir.Value]:
                    outer, step, inner = address(row, number)
                    at = b.add(b.mul(outer, step), inner)
                    return [field.load(buffer, [at]) for buffer in buffers]

                first, step = thread_number(), b.index(size)
                totals = sums_of_parts(self.sums, first, part_count, step, parts_at)
                with first_thread(self.sums, totals) as over_block:
                    row_places = self._places(self.kept_axes, row)
                    cells.update(over_block, self._index_values(places, row_places))
            b.end_parallel()


def _part_count(elements: ir.Value, length: ir.Value, target: int, least: int) -> ir.Value:
    """Return how many parts of at least so many iterations a sum of a length has: one, where the
    elements occupy much of a GPU already."""
    count, constant_length = constant_integer(elements), constant_integer(length)
    if count is not None and 4 * count >= target:
        return b.index(1)
    if count is not None and constant_length is not None:
        return b.index(min(target // count, -(-constant_length // least)))
    some = b.maxsi(elements, b.index(1))
    share = b.div(b.index(target), some)
    most = b.div(b.add(length, b.index(least - 1)), b.index(least))
    part_count = b.minsi(share, most)
    part_count = b.maxsi(part_count, b.index(1))
    return b.select(b.compare(b.SLT, share, b.index(5)), b.index(1), part_count)


@contextmanager
def _block_of(count: ir.Value) -> Iterator[ir.Value]:
    """The number of a block among so many, for what is built within. Where it is not known how many
    there are, a block more may run, which does nothing."""
    block = block_number()
    if constant_integer(count) is not None:
        yield block
        return
    is_one = b.if_else(b.compare(b.SLT, block, count), [], with_else=False)
    with at_end(is_one.then, ir.Location.current):
        yield block
        b.yield_()


def _store(totals: Sequence[ir.Value], buffers: Sequence[ir.Value], number: ir.Value) -> None:
    """Leave parts of sums at a place."""
    for total, buffer in zip(totals, buffers):
        field.store(total, buffer, [number])
