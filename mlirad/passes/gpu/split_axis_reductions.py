"""Elements that all iterations along some axes of a box update, and no others: sums of rows or of
columns, in registers and always in the same order.

Assumes `split-reductions`, and that iterations of a parallel loop may run in any order. Of a loop
whose extents are known: where its last axis is summed, blocks of threads take a row each, or a part
of one if there are few, and add up what their threads have summed. Otherwise a thread sums along
columns, so that neighbours reach memory together. Parts of a sum go to an array of the launch,
which a second launch adds up. The sums are in slots, for `mem2reg`.
"""

from collections.abc import Callable
from math import prod

from mlirad.analysis.cells import accesses_by_array, summed_cells
from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicOp, split_access
from mlirad.ir import build as b
from mlirad.ir.blocks import (
    BLOCK_DIM,
    WARP,
    block_number,
    block_size,
    thread_number,
    threads_in_blocks,
)
from mlirad.ir.box import bounds_of, box_digits
from mlirad.ir.launch_memory import scratch
from mlirad.ir.reductions import Reduction
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel, is_parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    entry_of,
    functions,
    is_defined_in,
)
from mlirad.passes.gpu._accumulator import (
    LAST_BLOCK,
    Accumulator,
    empty_slots,
    first_thread,
    sums_of_parts,
)
from mlirad.passes.gpu._iterations import Cells, Iterations
from mlirad.passes.gpu._many_sums import first_sums

REQUIRES = KERNELS

_THREADS, _BLOCKS = 1 << 18, 1 << 11  # about as many as a large GPU holds at once
_SHORT = 16  # iterations that are better left to one thread
_MOST_ITERATIONS = 1 << 31  # no more blocks than a grid holds


def split_axis_reductions(module: ir.Operation) -> None:
    """Sum what iterations along some axes of a box add to an element by threads and blocks."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in [op for op in block_operations(entry_of(function)) if is_parallel(op)]:
            trips = [span.trips for span in spans(loop)]
            known = [trip for trip in trips if trip]
            size = block_size(loop)
            if len(known) < len(trips) or len(known) < 2 or size is None:
                continue
            for kept, sums in _sums_by_axes(loop).items():
                if prod(known) < _MOST_ITERATIONS:
                    with before(loop):
                        _Split(module, loop, kept, first_sums(sums), known, size).run()
                break


def _sums_by_axes(loop: ir.Operation) -> dict[tuple[int, ...], list[Accumulator]]:
    """The sums of a loop by the axes that tell their elements apart."""
    indices, meetings = Parallel(loop).indices, Meetings(loop)
    found: dict[tuple[int, ...], list[Accumulator]] = {}
    for root, group in accesses_by_array(loop).items():
        if isinstance(root, ir.Value) and is_defined_in(root, loop):
            continue
        for cell in summed_cells(meetings, group):
            kept = tuple(axis for axis, index in enumerate(indices) if index in cell.names)
            first = cell.updates[0]
            array, place = split_access(first)
            residues = meetings.residues(place)
            if 0 < len(kept) == len(cell.names) < len(indices) and all(
                meetings.apart(residues, residues, indices[axis]) for axis in kept
            ):
                kind, type_ = AtomicOp(first).kind.value, first.operands[0].type
                sum_ = Accumulator(Reduction(kind, array, place, type_, cell.updates))
                found.setdefault(kept, []).append(sum_)
    return found


class _Split:
    """One loop."""

    def __init__(
        self,
        module: ir.Operation,
        loop: ir.Operation,
        kept: tuple[int, ...],
        sums: list[Accumulator],
        trips: list[int],
        size: int,
    ) -> None:
        self.module, self.loop, self.kept, self.sums = module, loop, kept, sums
        self.trips, self.size = trips, size
        self.summed = tuple(axis for axis in range(len(trips)) if axis not in kept)
        self.elements = prod(trips[axis] for axis in kept)
        self.length = prod(trips[axis] for axis in self.summed)

    def run(self) -> None:
        """Replace the loop, in front of it."""
        if self.kept[-1] < len(self.trips) - 1 and self.length > _SHORT:
            self._by_rows()
        else:
            self._by_columns()
        self.loop.erase()

    def _by_rows(self) -> None:
        """A block for every element, or several."""
        size = min(self.size, -(-self.length // WARP) * WARP)
        parts = self._parts(_BLOCKS, -(-self.length // size))
        buffers = self._buffers(parts)
        threads = threads_in_blocks(b.index(self.elements * parts * size), size)
        cells = Cells(self.sums, threads.op)
        with at_end(threads.body, self.loop.location):
            block, thread = block_number(), thread_number()
            row, part = box_digits(block, [b.index(self.elements), b.index(parts)])
            places = self._places(self.kept, row)
            first = b.add(b.mul(part, b.index(size)), thread)
            slots = self._run(first, parts * size, places)
            with first_thread(self.sums, [b.read(slot) for slot in slots]) as totals:
                self._leave(totals, buffers, block, cells, places)
            b.end_parallel()
        self._add_up(cells, buffers, parts, places, lambda row, p: (row, parts, p))

    def _by_columns(self) -> None:
        """A thread for every element, or several; neighbours have neighbouring elements."""
        parts = self._parts(_THREADS, -(-self.length // _SHORT))
        buffers = self._buffers(parts)
        given = {BLOCK_DIM: ir.IntegerAttr.get(b.integer_type(64), self.size)}
        elements, count = b.index(self.elements), b.index(self.elements * parts)
        threads = b.parallel_loop([b.index(0)], [count], [b.index(1)], given)
        cells = Cells(self.sums, threads.op)
        with at_end(threads.body, self.loop.location):
            thread = threads.indices[0]
            part, column = box_digits(thread, [b.index(parts), elements])
            places = self._places(self.kept, column if buffers else thread)
            slots = self._run(part if buffers else b.index(0), parts, places)
            self._leave([b.read(slot) for slot in slots], buffers, thread, cells, places)
            b.end_parallel()
        self._add_up(cells, buffers, parts, places, lambda row, p: (p, self.elements, row))

    def _parts(self, wanted: int, most: int) -> int:
        """How many parts a sum has: one, where its elements occupy much of a GPU already."""
        return 1 if 4 * self.elements >= wanted else min(wanted // self.elements, most)

    def _buffers(self, parts: int) -> list[ir.Value]:
        """Arrays for the parts of the sums, where there are several."""
        extents = [self.elements * parts]
        return [scratch(self.module, s.type, extents) for s in self.sums] if parts > 1 else []

    def _places(self, axes: tuple[int, ...], number: ir.Value) -> dict[int, ir.Value]:
        """The indices along some axes in the trip of a number."""
        bounds = bounds_of(self.loop)
        digits = box_digits(number, [b.index(self.trips[axis]) for axis in axes])
        return {axis: bounds[axis].value(digit) for axis, digit in zip(axes, digits)}

    def _run(self, first: ir.Value, step: int, places: dict[int, ir.Value]) -> list[ir.Value]:
        """Run every so many-th iteration of an element; the slots of what they add."""
        slots = empty_slots(self.sums)

        def indices(number: ir.Value) -> list[ir.Value]:
            found = {**places, **self._places(self.summed, number)}
            return [found[axis] for axis in range(len(found))]

        iterations = Iterations(self.loop, self.sums, indices)
        if self.length == step:
            iterations.run_one(first, slots)
        else:
            turns = -(-self.length // step)
            iterations.run(first, b.index(self.length), b.index(step), slots, turns)
        return slots

    def _leave(
        self,
        totals: list[ir.Value],
        buffers: list[ir.Value],
        number: ir.Value,
        cells: Cells,
        places: dict[int, ir.Value],
    ) -> None:
        """Leave sums in their elements, or parts of them in buffers."""
        if not buffers:
            cells.update(totals, self._known(places, places))
        for total, buffer in zip(totals, buffers):
            field.store(total, buffer, [number])

    def _known(
        self, places: dict[int, ir.Value], here: dict[int, ir.Value]
    ) -> dict[ir.Value, ir.Value]:
        """What indices, as the loop had them and as its iterations found them, are here."""
        old = Parallel(self.loop).indices
        found = {old[axis]: here[axis] for axis in self.kept}
        return found | {places[axis]: here[axis] for axis in self.kept}

    def _add_up(
        self,
        cells: Cells,
        buffers: list[ir.Value],
        parts: int,
        places: dict[int, ir.Value],
        address: Callable[[ir.Value, ir.Value], tuple[ir.Value, int, ir.Value]],
    ) -> None:
        """A launch of a block for every element, which adds up its parts. A part is so many
        elements behind another."""
        if not buffers:
            return
        size = min(LAST_BLOCK, -(-parts // WARP) * WARP)
        threads = threads_in_blocks(b.index(self.elements * size), size)
        with at_end(threads.body, self.loop.location):
            row, thread = block_number(), thread_number()

            def parts_at(part: ir.Value) -> list[ir.Value]:
                outer, step, inner = address(row, part)
                at = b.add(b.mul(outer, b.index(step)), inner)
                return [field.load(buffer, [at]) for buffer in buffers]

            totals = sums_of_parts(self.sums, thread, b.index(parts), b.index(size), parts_at)
            with first_thread(self.sums, totals) as over_block:
                here = self._places(self.kept, row)
                cells.update(over_block, self._known(places, here))
            b.end_parallel()
