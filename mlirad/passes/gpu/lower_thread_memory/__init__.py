"""Stacks and local arrays of iterations as memory that the host allocates: a buffer for all
threads, with a column for each.

Slot k of thread t lies at k · threads + t, so that neighbors read and write side by side. A loop
whose iterations need columns becomes one of a bounded number of threads that stride over the box,
and use their columns again: at most `threads`, and no more than have space in `megabytes` (but a
block of 128). What is known to be small, up to 128 bytes, is a thread's allocate_for_thread.

Assumes stacks of sizes that are known at the top of the function (`insert-size-counts`), no logs
(`lower-logs-to-stacks`), and marked updates. Local arrays at the top of a function stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from mlirad.bindings import ir
from mlirad.dialect.field import (
    AllocaOp,
    AtomicOp,
    DimOp,
    array_of,
    atomic_kind,
    is_load,
    is_store,
    split_access,
)
from mlirad.dialect.grad import AllocOp, FreeOp, PopOp, PushOp
from mlirad.ir import build as b
from mlirad.ir.box import box_size, fold, for_each_index
from mlirad.ir.gpu.host_values import HostValues
from mlirad.ir.gpu.striding import STRIDING_THREADS, stride
from mlirad.ir.limits import Range
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    before,
    block_operations,
    constant_integer,
    enclosing,
    entry_of,
    functions,
    is_defined_in,
    operations,
    users_of,
)
from mlirad.passes.gpu.lower_thread_memory.thread_columns import (
    Column,
    allocate_for_thread,
    allocate_for_threads,
    element_of,
    extents_of,
    is_short,
    width_of,
)

REQUIRES = KERNELS
LEAST_THREADS = 128


def lower_thread_memory(
    module: ir.Operation,
    *,
    threads: Annotated[int, Range(LEAST_THREADS, 1 << 24)] = STRIDING_THREADS,
    megabytes: Annotated[int, Range(1, 1 << 20)] = 1024,
) -> None:
    """Put stacks and local arrays of iterations into buffers that the host allocates, with a column
    per thread."""
    for function in functions(module):
        if not is_private(function):
            tops = block_operations(entry_of(function))
            for top in [top for top in tops if len(top.regions)]:
                _lower(top, threads, megabytes << 20)
            stacks = [op for op in block_operations(entry_of(function)) if AllocOp.holds(op)]
            for stack in stacks:
                _lower_serial_stack(stack)
            for op in operations(function):
                if any(kind.holds(op) for kind in (PushOp, PopOp, FreeOp)):
                    refuse(op, "a stack that no 'grad.alloc' before it makes")


def _lower(top: ir.Operation, most: int, budget: int) -> None:
    """Lower what an op at the top of a function makes."""
    allocations = [op for op in operations(top) if AllocOp.holds(op) or AllocaOp.holds(op)]
    shared = [op for op in allocations if not is_short(op)]
    for op in allocations:
        if op not in shared:
            _keep(op)
    _share(top, shared, most, budget)


def _keep(op: ir.Operation) -> None:
    """Let a thread have a stack or an array to itself."""
    with before(op):
        extents = extents_of(op)
        column = Column(allocate_for_thread(op, extents), element_of(op))
        if AllocOp.holds(op) and constant_integer(extents[0]) == 1:  # it becomes a value
            column.write(b.number(0, element_of(op)), [b.index(0)])
    _use(op, column)


def _lower_serial_stack(op: ir.Operation) -> None:
    """Lower a stack of the serial code of a function."""
    if is_short(op):
        _keep(op)
        return
    end = block_operations(op.block)[-1]
    with before(op):
        memory = allocate_for_threads(op, extents_of(op), None)
    with before(end):
        b.dealloc(memory)
    _use(op, Column(memory, element_of(op)))


def _share(top: ir.Operation, allocations: Sequence[ir.Operation], most: int, budget: int) -> None:
    """Give arrays memory around an op at the top of the function."""
    if not allocations:
        return
    with before(top):
        extents = [_known_extents(op, top) for op in allocations]
        threads = None
        if is_parallel(top):
            threads = _threads(top, list(zip(map(width_of, allocations), extents)), most, budget)
        buffers = [
            allocate_for_threads(op, sizes, threads) for op, sizes in zip(allocations, extents)
        ]
    with ir.InsertionPoint.after(top), top.location:
        for buffer in buffers:
            b.dealloc(buffer)
    thread = None if threads is None else stride(top, threads).indices[0]
    for op, buffer in zip(allocations, buffers):
        _use(op, Column(buffer, element_of(op), thread))


def _known_extents(op: ir.Operation, top: ir.Operation) -> list[ir.Value]:
    sizes = [] if AllocaOp.holds(op) else [op.operands[0]]
    if any(constant_integer(size) is None and is_defined_in(size, top) for size in sizes):
        refuse(op, "a stack of unknown size: run insert-size-counts first")
    return extents_of(op)


def _threads(
    loop: ir.Operation, arrays: Sequence[tuple[int, list[ir.Value]]], most: int, budget: int
) -> ir.Value:
    """Return how many threads run a loop whose iterations need these arrays, of widths and
    extents."""
    size = b.index(0)
    for width, extents in arrays:
        array_size = b.index(width)
        for extent in extents:
            array_size = fold(Arith.MULI, array_size, extent)
        size = fold(Arith.ADDI, size, array_size)
    most_threads = fold(Arith.DIVUI, b.index(budget // LEAST_THREADS), size)
    most_threads = fold(Arith.MULI, most_threads, b.index(LEAST_THREADS))
    most_threads = fold(Arith.MAXSI, most_threads, b.index(LEAST_THREADS))
    most_threads = fold(Arith.MINSI, most_threads, b.index(most))
    if not all(map(HostValues(enclosing(loop)).knows, loop.operands)):
        return most_threads
    total = fold(Arith.MAXSI, box_size(loop)[1], b.index(1))
    return fold(Arith.MINSI, most_threads, total)


# Uses.


def _use(op: ir.Operation, column: Column) -> None:
    """Let what uses a stack or a local array use its memory."""
    users = users_of(op.results[0])
    if AllocaOp.holds(op):
        with before(op):
            zero = b.number(0, element_of(op))
            for_each_index(extents_of(op), lambda indices: column.write(zero, indices))
    for user in users:
        with before(user):
            if not _use_in(user, column):
                refuse(user, f"'{user.name}' on memory of a thread has no lowering")
        user.erase()
    op.erase()


def _use_in(user: ir.Operation, column: Column) -> bool:
    """Do in memory what one op does; False if it is not known."""
    if PushOp.holds(user):
        column.write(user.operands[0], [user.operands[2]])
    elif PopOp.holds(user):
        user.results[0].replace_all_uses_with(column.read([user.operands[1]]))
    elif is_load(user):
        user.results[0].replace_all_uses_with(column.read(split_access(user)[1]))
    elif is_store(user):
        column.write(user.operands[0], split_access(user)[1])
    elif AtomicOp.holds(user):
        indices = split_access(user)[1]
        old = column.read(indices)
        value = b.combine(atomic_kind(user), old, user.operands[0])
        column.write(round_like(value, user), indices)
        user.results[0].replace_all_uses_with(old)
    elif DimOp.holds(user):
        axis = ir.IntegerAttr(user.attributes["axis"]).value
        extent = array_of(user.operands[0].type)[1][axis]
        user.results[0].replace_all_uses_with(b.index(extent))
    else:
        return FreeOp.holds(user)
    return True
