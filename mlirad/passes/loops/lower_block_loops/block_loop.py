"""A parallel loop as a loop over blocks, and the numbers of a thread in it."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import SharedOp
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_digits, product
from mlirad.ir.gpu.blocks import BLOCK_DIM, MOST_THREADS, THREADS, block_size
from mlirad.ir.requirements import refuse
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import at_end, before, block_operations, constant_integer, operations
from mlirad.passes.loops.lower_block_loops.segment_loops import Block, SegmentLoops
from mlirad.passes.loops.lower_block_loops.thread_arrays import Home, ThreadArrays
from mlirad.passes.loops.lower_block_loops.thread_connections import Connections
from mlirad.passes.loops.lower_block_loops.thread_segments import Segments


def run_in_blocks(loop: ir.Operation, of_launch: bool, threads: bool) -> None:
    """Put a loop over blocks in the place of a loop. Arrays `of_launch` are made in front of it;
    with `threads`, it is marked."""
    size = block_size(loop)
    if size is None:
        refuse(loop, f"'{BLOCK_DIM}' of threads that wait is 1 to {MOST_THREADS}")
    with before(loop):
        box = bounds_of(loop)
        extents = [bounds.trips() for bounds in box]
        total = product(extents)
        count = _count(total, size)
        blocks = b.parallel_loop([b.index(0)], [count], [b.index(1)])
    with at_end(blocks.body, loop.location):
        b.end_parallel()
    end = _mark(blocks, size) if threads else block_operations(blocks.body)[-1]
    axes: dict[ir.Value, int] = {index: axis for axis, index in enumerate(Parallel(loop).indices)}
    arrays = ThreadArrays(size, _home(loop, blocks, of_launch))
    loops = SegmentLoops(_block(loop, blocks, end, size, total), arrays, is_marked=threads)
    segments = Segments(loops, loop)
    for op in [op for op in operations(loop) if SharedOp.holds(op)]:
        arrays.share(op)
    segments.cut(block_operations(Parallel(loop).body)[:-1], segments.block.end)

    def index_of(old: ir.Value, thread: ir.Value) -> ir.Value:
        digits = box_digits(b.add(segments.block.first, thread), extents)
        return box[axes[old]].value(digits[axes[old]])

    Connections(segments, axes, index_of).make()
    loop.erase()


def _count(total: ir.Value, size: int) -> ir.Value:
    """The number of blocks."""
    trips = constant_integer(total)
    if trips is not None:
        return b.index(-(-trips // size))
    return b.ceildivsi(total, b.index(size))


def _mark(blocks: Parallel, size: int) -> ir.Operation:
    """Say how many threads a block has. Gives the op in front of which its code stands. One block
    gets another beside it, which does nothing: a loop of one iteration would be folded."""
    blocks.op.attributes[THREADS] = ir.IntegerAttr.get(b.integer_type(64), size)
    (end,) = block_operations(blocks.body)
    if constant_integer(blocks.upper[0]) != 1:
        return end
    with before(blocks.op):
        blocks.op.operands[1] = b.index(2)
    with before(end):
        first = b.if_else(b.compare(b.SLT, blocks.indices[0], b.index(1)), [], with_else=False)
    with at_end(first.then, end.location):
        b.yield_()
    return block_operations(first.then)[-1]


def _block(
    loop: ir.Operation, blocks: Parallel, end: ir.Operation, size: int, total: ir.Value
) -> Block:
    with before(end):
        first = b.mul(blocks.indices[0], b.index(size))
    trips = constant_integer(total)
    limit = None if trips is not None and trips % size == 0 else total
    thread = Parallel(loop).body.add_argument(b.index_type(), loop.location)
    return Block(blocks.op, end, size, first, limit, thread)


def _home(loop: ir.Operation, blocks: Parallel, of_launch: bool) -> Home:
    if not of_launch:
        return Home(blocks.body)
    count = constant_integer(blocks.upper[0])
    if count is None:
        refuse(
            loop,
            "the gradient of a loop whose iterations wait for one another, or share an array, "
            "needs a number of iterations that is known while compiling",
        )
    return Home(blocks.body, blocks.op, max(count, 1), blocks.indices[0])
