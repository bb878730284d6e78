"""Cells that all iterations of a parallel loop update: summed in registers, in blocks of threads,
and over the blocks, always in the same order.

Assumes `split-serial-code` and marked updates. A loop with updates marked `field.reduce` becomes
one of threads that fill blocks, at most 2048 of them, and stride over its box. The sum of a block
goes to an array of the launch, which one block adds up in a launch of its own; a loop that is one
block needs none. The sums are in slots, for `mem2reg`. For more of them than have space, a loop
runs several times; where it does more than to sum up, some stay atomic. How sums are cut depends on
the box, and not on what the loop does: so exact sums come out the same in every mode.
"""

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.box import box_indices, box_size
from mlirad.ir.gpu.accumulator import (
    LAST_BLOCK,
    Accumulator,
    empty_slots,
    first_thread,
    sums_of_parts,
)
from mlirad.ir.gpu.blocks import FILLING_BLOCKS, WARP, block_number, block_size, threads_in_blocks
from mlirad.ir.gpu.iterations import Cells, Iterations
from mlirad.ir.gpu.many_sums import loops_of_sums
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import Parallel, is_parallel
from mlirad.ir.walk import at_end, before, block_operations, constant_integer, entry_of, functions

REQUIRES = KERNELS


def split_reductions(module: ir.Operation) -> None:
    """Let threads, blocks and launches sum the updates that all iterations of a parallel loop make
    to a cell."""
    for function in functions(module):
        if is_private(function):
            continue
        for loop in [op for op in block_operations(entry_of(function)) if is_parallel(op)]:
            size = block_size(loop)
            if size is None:
                continue
            for sum_loop, sums in loops_of_sums(loop):
                with before(sum_loop):
                    extents, total = box_size(sum_loop)
                    if constant_integer(total) != 0:
                        _Split(module, sum_loop, sums, extents, total, size).run()


class _Grid:
    """Blocks that stride over so many iterations, made at the insertion point."""

    def __init__(self, total: ir.Value, size: int) -> None:
        trips = constant_integer(total)
        if trips is not None and trips < size:
            size = 1 if trips == 1 else -(-trips // WARP) * WARP
        self.size, self.total, self.trips = size, total, trips
        if trips is None:
            filled = b.div(b.add(total, b.index(size - 1)), b.index(size))
            most = b.minui(filled, b.index(FILLING_BLOCKS))
            self.blocks = b.maxui(most, b.index(1))
            self.threads = b.mul(self.blocks, b.index(size))
            self.most_blocks = FILLING_BLOCKS
        else:
            self.most_blocks = min(FILLING_BLOCKS, -(-trips // size))
            self.blocks = b.index(self.most_blocks)
            self.threads = b.index(self.most_blocks * size)

    @property
    def turns(self) -> int | None:
        """Return how many iterations a thread takes at most, if that is known."""
        threads = constant_integer(self.threads)
        return None if self.trips is None or threads is None else -(-self.trips // threads)

    @property
    def is_filled(self) -> bool:
        """Return whether every thread is known to take one iteration."""
        return self.trips is not None and self.trips == constant_integer(self.threads)

    def loop(self) -> Parallel:
        """A loop with an iteration for each thread, empty."""
        return threads_in_blocks(self.threads, self.size)


class _Split:
    """One loop."""

    def __init__(
        self,
        module: ir.Operation,
        loop: ir.Operation,
        sums: list[Accumulator],
        extents: list[ir.Value],
        total: ir.Value,
        size: int,
    ) -> None:
        self.loop, self.sums = loop, sums
        self.grid = _Grid(total, size)
        most = self.grid.most_blocks
        # the sums of the blocks, where there are several
        self.parts = [scratch(module, s.type, [most]) for s in sums] if most > 1 else []
        self.threads = self.grid.loop()
        self.iterations = Iterations(loop, sums, lambda n: box_indices(loop, extents, n))
        self.cells = Cells(sums, self.threads.op)

    def run(self) -> None:
        """Replace the loop, in front of it."""
        with at_end(self.threads.body, self.loop.location):
            slots = empty_slots(self.sums)
            thread, grid = self.threads.indices[0], self.grid
            if grid.is_filled:
                self.iterations.run_one(thread, slots)
            else:
                self.iterations.run(thread, grid.total, grid.threads, slots, grid.turns)
            self._leave([b.read(slot) for slot in slots], self.grid.size, self.parts)
            b.end_parallel()
        if self.parts:
            self._add_up()
        self.loop.erase()

    def _leave(self, totals: list[ir.Value], size: int, buffers: list[ir.Value]) -> None:
        """Let the first thread of each block leave the sums of its threads: in the parts, or, if
        there are none, in the cells."""
        if size == 1:
            self.cells.update(totals)
            return
        with first_thread(self.sums, totals) as over_block:
            for total, buffer in zip(over_block, buffers):
                field.store(total, buffer, [block_number()])
            if not buffers:
                self.cells.update(over_block)

    def _add_up(self) -> None:
        """A launch of one block, which adds up the sums of the blocks."""
        last_grid = _Grid(b.index(min(self.grid.most_blocks, LAST_BLOCK)), LAST_BLOCK)
        threads = last_grid.loop()
        with at_end(threads.body, self.loop.location):
            first, count, step = threads.indices[0], self.grid.blocks, last_grid.threads
            totals = sums_of_parts(
                self.sums, first, count, step, lambda k: [field.load(p, [k]) for p in self.parts]
            )
            self._leave(totals, last_grid.size, [])
            b.end_parallel()
