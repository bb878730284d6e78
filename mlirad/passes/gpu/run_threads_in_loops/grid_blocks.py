"""A kernel as a loop over the blocks of its grid, and in it loops over the threads of a block."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.gpu.thread_loops import Box, axis_of
from mlirad.ir.gpu.thread_order import ThreadOrder
from mlirad.ir.ops import Gpu
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before, block_operations, enclosing, entry_of, operations, replace
from mlirad.passes.gpu.run_threads_in_loops.connections import STACK, Connections
from mlirad.passes.gpu.run_threads_in_loops.device_functions import SIZES
from mlirad.passes.gpu.run_threads_in_loops.segments import THREAD_ID, Segments
from mlirad.passes.gpu.run_threads_in_loops.thread_buffers import ThreadBuffers


def run_blocks(function: ir.Operation, order: ThreadOrder) -> None:
    """Have the threads of a kernel run by one thread of a CPU."""
    entry = entry_of(function)
    shared = _take_shared_memory(function)
    *body, end = block_operations(entry)[len(shared) :]
    sizes = list(entry.arguments)[:SIZES]
    with before(end):
        grid, block = Box(sizes[:3], order), Box(sizes[3:], order)
    blocks = grid.loop(end)
    places: dict[str, Sequence[ir.Value]] = {
        Gpu.GRID_DIM: sizes[:3],
        Gpu.BLOCK_DIM: sizes[3:],
        Gpu.BLOCK_ID: blocks.indices,
    }
    body = [op for op in body if op.name not in places]
    for op in list(operations(function)):
        if op.name in places:
            replace(op, [places[op.name][axis_of(op)]])
    _run_block(body, [*entry.arguments, *blocks.indices, *shared], block, blocks.end, end)
    for op in list(operations(function)):
        if op.name == THREAD_ID:
            op.erase()
        elif op.name == STACK:
            _hoist(op, entry)


def _run_block(
    body: Sequence[ir.Operation],
    shared: Sequence[ir.Value],
    threads: Box,
    inside: ir.Operation,
    end: ir.Operation,
) -> None:
    buffers = ThreadBuffers(threads.count, enclosing(inside), end)
    segments = Segments(shared, threads, buffers)
    segments.cut(body, inside)
    Connections(segments, buffers).make()
    segments.erase_what_is_cut()


def _take_shared_memory(function: ir.Operation) -> list[ir.Value]:
    """Move memory that the threads of a block share to the start of the function: blocks use it one
    after another. A CPU has one kind of memory."""
    entry = entry_of(function)
    shared: list[ir.Value] = []
    for op in list(operations(function)):
        for value in op.results:
            space = value.type.memory_space if isinstance(value.type, ir.MemRefType) else None
            if space is None:
                continue
            if op.name == STACK and "workgroup" in str(space):
                _hoist(op, entry)
                shared.append(value)
            type_ = ir.MemRefType(value.type)
            with op.location:
                plain_type = ir.MemRefType.get(type_.shape, type_.element_type, type_.layout)
            value.set_type(plain_type)
    return shared


def _hoist(op: ir.Operation, entry: ir.Block) -> None:
    """Allocate memory once a launch: in a loop, it would be allocated in every iteration."""
    if len(op.operands):
        refuse(op, "memory of a thread whose size is known only when it runs")
    first = block_operations(entry)[0]
    if op != first:
        op.move_before(first)
