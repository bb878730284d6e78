"""The code of a block, as that of each of its threads."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_of, element_type, is_load
from mlirad.ir import build as b
from mlirad.ir.box import box_digits
from mlirad.ir.gpu.blocks import (
    barrier,
    block_number,
    blocks_of_threads,
    thread_number,
)
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import (
    at_end,
    before,
    behind,
    block_operations,
    constant_integer,
    operations,
    replace,
)
from mlirad.passes.gpu.lower_block_threads.exchanges import segment_of, shuffle
from mlirad.passes.gpu.lower_block_threads.thread_plan import Plan


def run_by_threads(loop: ir.Operation, plan: Plan) -> None:
    """Put a loop over threads in the place of one over blocks."""
    _wait_where_arrays_meet(loop, plan)
    with before(loop):
        count, size = Parallel(loop).upper[0], plan.size
        trips = constant_integer(count)
        total = b.mul(count, b.index(size)) if trips is None else b.index(trips * size)
        threads = blocks_of_threads(total, size)
    with at_end(threads.body, loop.location):
        thread, block = thread_number(), block_number()
        b.end_parallel()
    end = block_operations(threads.body)[-1]
    if trips is None:  # a launch has at least one block
        with before(end):
            guard = b.if_else(b.compare(b.SLT, block, count), [], with_else=False)
        with at_end(guard.then, loop.location):
            b.yield_()
        end = block_operations(guard.then)[-1]
    for op in block_operations(Parallel(loop).body)[:-1]:
        op.move_before(end)
    Parallel(loop).indices[0].replace_all_uses_with(block)
    for array in plan.exchanged:
        _exchange(array)
    for array in plan.private:
        _keep_private(array)
    if plan.shared:
        _share(plan, thread)
    for segment in plan.segments:
        _run_one(segment, thread)
    loop.erase()


def _wait_where_arrays_meet(loop: ir.Operation, plan: Plan) -> None:
    """Have the threads of a block wait behind what touches memory that others change."""
    segments = {segment.op for segment in plan.segments}
    pending = block_operations(Parallel(loop).body)
    last = pending[-2:-1]
    while pending:
        op = pending.pop()
        if op not in segments and any(inner in segments for inner in operations(op)):
            pending += [
                o for r in op.regions for block in r.blocks for o in block_operations(block)
            ]
        elif op not in last and plan.meets(op):
            with behind(op):
                barrier()


def _exchange(array: ir.Operation) -> None:
    """Give the threads of a group each other's values by shuffles."""
    slot = _slot_of(array)
    for use in [use for use in array.results[0].uses if is_load(use.owner.operation)]:
        op = use.owner.operation
        segment = segment_of(op)
        assert segment is not None
        replace(op, [shuffle(op, slot, segment)])
    _keep_private(array, slot)


def _slot_of(array: ir.Operation) -> ir.Value:
    type_ = element_type(array.results[0].type)
    with before(array):
        slot = b.slot(type_)
        b.write(b.number(0, type_), slot)
    return slot


def _keep_private(array: ir.Operation, slot: ir.Value | None = None) -> None:
    """Give a thread its element of an array for itself."""
    memory = _slot_of(array) if slot is None else slot
    for use in list(array.results[0].uses):
        op = use.owner.operation
        with before(op):
            if is_load(op):
                replace(op, [b.read(memory)])
            else:
                b.write(op.operands[0], memory)
                op.erase()
    array.erase()


def _share(plan: Plan, thread: ir.Value) -> None:
    """Share arrays among the threads, which set them to zero first, each every so many-th
    element."""
    with before(plan.shared[0]):
        arrays = [field.shared(array.results[0].type) for array in plan.shared]
        for memory in arrays:
            extents = list(map(b.index, array_of(memory.type)[1]))
            count = prod(array_of(memory.type)[1])
            loop = b.for_loop(thread, b.index(count), b.index(plan.size))
            with at_end(loop.body, ir.Location.current):
                zero = b.number(0, element_type(memory.type))
                field.store(zero, memory, box_digits(loop.induction, extents))
                b.yield_()
        barrier()
    for array, memory in zip(plan.shared, arrays):
        replace(array, [memory])


def _run_one(segment: For, thread: ir.Value) -> None:
    """Run the body of a loop over threads once, in its place."""
    for op in block_operations(segment.body)[:-1]:
        op.move_before(segment.op)
    segment.induction.replace_all_uses_with(thread)
    segment.op.erase()
