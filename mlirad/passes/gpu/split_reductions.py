"""Cells that all iterations of a parallel loop update: summed in registers, in blocks of threads,
and over the blocks, always in the same order.

Assumes `split-serial-code` and marked updates. A loop with updates marked `field.reduce` becomes
one of threads that fill blocks, at most 2048 of them, and stride over its box. The sum of a block
goes to an array of the launch, which one block adds up in a launch of its own; a loop that is one
block needs none. The sums are in slots, for `mem2reg`. How they are cut depends on the box, and not
on what the loop does: so exact sums come out the same in every mode.
"""

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.blocks import (
    BLOCK_DIM,
    DEFAULT_BLOCK,
    MOST_THREADS,
    WARP,
    WHOLE_BLOCKS,
    block_number,
    thread_number,
)
from mlirad.ir.box import box_indices, box_size
from mlirad.ir.launch_memory import scratch
from mlirad.ir.reductions import find_reductions
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import Parallel, is_parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    constant_integer,
    entry_of,
    functions,
    is_defined_in,
    owner_operation,
)
from mlirad.passes.gpu._accumulator import Accumulator, add_slots, empty_slots

MOST_BLOCKS = 2048  # of 128 threads: about as many as a large GPU holds at once
SERIAL = 1024  # iterations that a thread adds up before they join its sum
_LAST_BLOCK = 256  # threads that add up the sums of blocks

REQUIRES = KERNELS


def split_reductions(module: ir.Operation) -> None:
    """Sum what all iterations of a parallel loop add to a cell by threads, blocks and launches."""
    for function in functions(module):
        if "sym_visibility" in function.attributes:
            continue
        for loop in [op for op in block_operations(entry_of(function)) if is_parallel(op)]:
            sums = [Accumulator(reduction) for reduction in find_reductions(loop)]
            size = _block_size(loop)
            if sums and size is not None:
                with before(loop):
                    extents, total = box_size(loop)
                    if constant_integer(total) != 0:
                        _Split(module, loop, sums, extents, total, size).run()


def _block_size(loop: ir.Operation) -> int | None:
    """The threads of a block; None where the loop asks for what no GPU has."""
    if BLOCK_DIM not in loop.attributes:
        return DEFAULT_BLOCK
    size = ir.IntegerAttr(loop.attributes[BLOCK_DIM]).value
    return size if 1 <= size <= MOST_THREADS else None


class _Grid:
    """Blocks that stride over so many iterations, made at the insertion point."""

    def __init__(self, total: ir.Value, size: int) -> None:
        trips = constant_integer(total)
        if trips is not None and trips < size:
            size = 1 if trips == 1 else -(-trips // WARP) * WARP
        self.size, self.total, self.trips = size, total, trips
        if trips is None:
            filled = b.div(b.add(total, b.index(size - 1)), b.index(size))
            most = b.make("arith.minui", b.index_type(), [filled, b.index(MOST_BLOCKS)])
            self.blocks = b.make("arith.maxui", b.index_type(), [most, b.index(1)])
            self.threads = b.mul(self.blocks, b.index(size))
            self.most_blocks = MOST_BLOCKS
        else:
            self.most_blocks = min(MOST_BLOCKS, -(-trips // size))
            self.blocks = b.index(self.most_blocks)
            self.threads = b.index(self.most_blocks * size)

    @property
    def turns(self) -> int | None:
        """How many iterations a thread takes at most, where that is known."""
        threads = constant_integer(self.threads)
        return None if self.trips is None or threads is None else -(-self.trips // threads)

    @property
    def is_filled(self) -> bool:
        """Whether every thread is known to take one iteration."""
        return self.trips is not None and self.trips == constant_integer(self.threads)

    def loop(self) -> Parallel:
        """A loop with an iteration for each thread, empty."""
        attributes = {
            BLOCK_DIM: ir.IntegerAttr.get(b.integer_type(64), self.size),
            WHOLE_BLOCKS: ir.UnitAttr.get(),
        }
        return b.parallel_loop([b.index(0)], [self.threads], [b.index(1)], attributes)


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
        self.loop, self.sums, self.extents = loop, sums, extents
        self.grid = _Grid(total, size)
        most = self.grid.most_blocks
        # the sums of the blocks, where there are several
        self.parts = [scratch(module, s.type, [most]) for s in sums] if most > 1 else []
        self.threads = self.grid.loop()

    def run(self) -> None:
        """Replace the loop, in front of it."""
        with at_end(self.threads.body, self.loop.location):
            slots = empty_slots(self.sums)
            self._run_iterations(self.threads.indices[0], slots)
            self._leave([b.read(slot) for slot in slots], self.grid.size, self.parts)
            b.end_parallel()
        if self.parts:
            self._add_up()
        self.loop.erase()

    # The iterations of a thread.

    def _run_iterations(self, thread: ir.Value, slots: list[ir.Value]) -> None:
        grid = self.grid
        if grid.is_filled:
            self._run_iteration(thread, slots)
        elif grid.turns == 1:
            inside = b.if_else(b.compare(b.SLT, thread, grid.total), [], with_else=False)
            with at_end(inside.then, self.loop.location):
                self._run_iteration(thread, slots)
                b.yield_()
        elif grid.turns is not None and grid.turns <= SERIAL:
            self._run_from(thread, grid.total, slots)
        else:
            far = b.mul(grid.threads, b.index(SERIAL))
            starts = b.for_loop(thread, grid.total, far)
            with at_end(starts.body, self.loop.location):
                inner = empty_slots(self.sums)
                end = b.add(starts.induction, far)
                last = b.make("arith.minsi", b.index_type(), [end, grid.total])
                self._run_from(starts.induction, last, inner)
                add_slots(self.sums, slots, inner)
                b.yield_()

    def _run_from(self, first: ir.Value, end: ir.Value, slots: list[ir.Value]) -> None:
        turns = b.for_loop(first, end, self.grid.threads)
        with at_end(turns.body, self.loop.location):
            self._run_iteration(turns.induction, slots)
            b.yield_()

    def _run_iteration(self, number: ir.Value, slots: list[ir.Value]) -> None:
        """Move the body of the loop to the insertion point, for the iteration of a number. What
        inner loops of an iteration add up joins the sum as one."""
        indices = box_indices(self.loop, self.extents, number)
        repeated = [s for s in self.sums if s.reduction.is_repeated_in(self.loop)]
        inner = dict(zip(repeated, empty_slots(repeated)))
        for sum_, slot in zip(self.sums, slots):
            for update in sum_.reduction.updates:
                _update_slot(sum_, update, inner.get(sum_, slot))
        end = owner_operation(b.index(0))
        body = Parallel(self.loop)
        for op in block_operations(body.body)[:-1]:
            op.move_before(end)
        end.erase()
        for old, new in zip(body.indices, indices):
            old.replace_all_uses_with(new)
        outer = [slot for s, slot in zip(self.sums, slots) if s in inner]
        add_slots(repeated, outer, list(inner.values()))

    # The sums of blocks.

    def _leave(self, totals: list[ir.Value], size: int, parts: list[ir.Value]) -> None:
        """Let the first thread of each block leave the sums of its threads: in the parts, or, if
        there are none, in the cells."""
        if size == 1:
            self._update_cells(totals)
            return
        totals = [s.over_block(total) for s, total in zip(self.sums, totals)]
        first = b.compare(b.EQ, thread_number(), b.index(0))
        chosen = b.if_else(first, [], with_else=False)
        with at_end(chosen.then, self.loop.location):
            for total, part in zip(totals, parts):
                field.store(total, part, [block_number()])
            if not parts:
                self._update_cells(totals)
            b.yield_()

    def _add_up(self) -> None:
        """A launch of one block, which adds up the sums of the blocks."""
        one = _Grid(b.index(min(self.grid.most_blocks, _LAST_BLOCK)), _LAST_BLOCK)
        threads = one.loop()
        with at_end(threads.body, self.loop.location):
            neutral = [s.neutral() for s in self.sums]
            turns = b.for_loop(threads.indices[0], self.grid.blocks, one.threads, neutral)
            with at_end(turns.body, self.loop.location):
                values = [field.load(part, [turns.induction]) for part in self.parts]
                b.yield_([s.combined(c, v) for s, c, v in zip(self.sums, turns.carried, values)])
            self._leave(list(turns.results), one.size, [])
            b.end_parallel()

    def _update_cells(self, totals: list[ir.Value]) -> None:
        for sum_, total in zip(self.sums, totals):
            reduction = sum_.reduction
            marks = {"field.plain": ir.UnitAttr.get(), **sum_.marks}
            cell = [reduction.array, *reduction.indices]
            array, *indices = [_again(value, self.threads.op) for value in cell]
            field.atomic(sum_.narrowed(total), array, indices, reduction.kind, marks)


def _update_slot(sum_: Accumulator, update: ir.Operation, slot: ir.Value) -> None:
    with before(update):
        value = sum_.widened(update.operands[0])
        b.write(sum_.combined(b.read(slot), value), slot)
    update.erase()


def _again(value: ir.Value, threads: ir.Operation) -> ir.Value:
    """A value that an iteration makes of what is outside of the loop: made anew at the insertion
    point."""
    if not is_defined_in(value, threads):
        return value
    op = owner_operation(value)
    operands = [_again(operand, threads) for operand in op.operands]
    copy = op.clone()
    for position, operand in enumerate(operands):
        copy.operands[position] = operand
    return copy.results[0]
