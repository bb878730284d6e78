"""A parallel loop as a nest of serial ones, and what it changes as variables: what
`lower-ordered-loops` does to the loops that it finds."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from mlirad.bindings import ir
from mlirad.dialect.field import (
    AllocaOp,
    array_of,
    atomic_kind,
    element_type,
    is_access,
    is_atomic,
    is_store,
    split_access,
)
from mlirad.ir import build as b
from mlirad.ir.structured import Parallel, StructuredOp, is_branch, is_parallel
from mlirad.ir.walk import (
    accesses,
    at_start,
    before,
    block_operations,
    defining_op,
    enclosing,
    is_inside,
    owner_operation,
    users_of,
)


class _FirstUse(Enum):
    """The first use of a variable in a block, if the block is certain to use it."""

    NONE, SETS, READS = range(3)


def lower(loop: ir.Operation, variables: Sequence[ir.Value]) -> None:
    """Make a loop serial, unless all its ordered variables can be those of an iteration."""
    temporaries = [variable for variable in variables if _is_temporary(variable, loop)]
    for variable in temporaries:
        _move_inside(variable, loop)
    if len(temporaries) < len(variables):
        touched = [array for _, array, _ in accesses(loop)]
        _make_serial(loop)
        for array in dict.fromkeys(touched):
            if isinstance(array, ir.Value) and _may_be_slot(array):
                with before(owner_operation(array)):
                    slot = _slot(array)
                    b.write(b.number(0, element_type(array.type)), slot)
                _replace(array, slot)


# Variables of an iteration.


def _is_temporary(variable: ir.Value, loop: ir.Operation) -> bool:
    """Return whether each iteration sets a variable before it reads it, and nothing else reads
    it."""
    if array_of(variable.type)[1]:
        return False
    outside_users = [op for op in users_of(variable) if not is_inside(op, loop)]
    if not all(map(is_store, outside_users)):
        return False
    return _first_use(Parallel(loop).body, variable) is not _FirstUse.READS


def _first_use(block: ir.Block, variable: ir.Value) -> _FirstUse:
    for op in block_operations(block):
        if is_access(op) and split_access(op)[0] == variable:
            return _FirstUse.SETS if is_store(op) else _FirstUse.READS
        inner = [_first_use(inner_block, variable) for inner_block in StructuredOp(op).blocks]
        if _FirstUse.READS in inner:
            return _FirstUse.READS
        if is_branch(op) and inner == [_FirstUse.SETS] * 2:
            return _FirstUse.SETS
    return _FirstUse.NONE


def _move_inside(variable: ir.Value, loop: ir.Operation) -> None:
    for op in users_of(variable):
        if not is_inside(op, loop):
            op.erase()
    with at_start(Parallel(loop).body, owner_operation(variable).location):
        slot = _slot(variable)
    _replace(variable, slot)


# Serial loops.


def _make_serial(loop: ir.Operation) -> None:
    """Put a nest of serial loops in the place of a parallel one."""
    box, indices = Parallel(loop), list[ir.Value]()
    with before(loop):
        end = _nest(list(zip(box.lower, box.upper, box.steps)), indices)
    for old, new in zip(box.indices, indices):
        old.replace_all_uses_with(new)
    for op in block_operations(box.body)[:-1]:
        op.move_before(end)
    loop.erase()


def _nest(bounds: Sequence[tuple[ir.Value, ...]], indices: list[ir.Value]) -> ir.Operation:
    """Emit empty loops, each in the one before; the end of the innermost body."""
    (low, high, step), *inner_bounds = bounds
    loop = b.for_loop(low, high, step)
    indices.append(loop.induction)
    with ir.InsertionPoint(loop.body):
        end = _nest(inner_bounds, indices) if inner_bounds else None
        b.yield_()
    return block_operations(loop.body)[-1] if end is None else end


# Memory of the launch as variables.


def _may_be_slot(array: ir.Value) -> bool:
    """Return whether memory is one number, which no iterations share."""
    op = defining_op(array)
    return (
        op is not None
        and AllocaOp.holds(op)
        and not array_of(array.type)[1]
        and not any(
            _is_shared(user, op) or "grad.stop" in user.attributes for user in users_of(array)
        )
    )


def _is_shared(user: ir.Operation, alloca: ir.Operation) -> bool:
    around = enclosing(user)
    while not is_inside(alloca, around):
        if is_parallel(around):
            return True
        around = enclosing(around)
    return False


def _slot(array: ir.Value) -> ir.Value:
    return b.slot(element_type(array.type))


def _replace(array: ir.Value, slot: ir.Value) -> None:
    """Make accesses of one number in memory those of a slot."""
    for op in users_of(array):
        with before(op):
            if is_store(op):
                b.write(op.operands[0], slot)
            else:
                old = b.read(slot)
                op.results[0].replace_all_uses_with(old)
            if is_atomic(op):
                b.write(b.combine(atomic_kind(op), old, op.operands[0]), slot)
        op.erase()
    owner_operation(array).erase()
