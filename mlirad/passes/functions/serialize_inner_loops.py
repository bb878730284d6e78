"""Make loops of a function that a kernel does not run in parallel serial ones.

A kernel's parallel loops stand in no other loop, and carry no values: its reverse can restore what
such a loop overwrote before a later one runs, by launching them one by one. The others become
nests of `scf.for`: iterations in order are iterations in some order. What an `scf.reduce` combines
is carried by the nest, in the order of the operands. An atomic update that is a region, of which
arrays have none, is a load and a store in such a nest. A loop that allocates memory is serial too:
a local array of a kernel is one of the launch, not of an iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Memref, Scf
from mlirad.ir.structured import is_parallel, is_serial_loop
from mlirad.ir.walk import (
    ancestors,
    before,
    block_operations,
    clone,
    functions,
    operations,
    replace,
)


def serialize_inner_loops(module: ir.Operation, *, outer: bool = False) -> None:
    """Serialize parallel loops inside other loops, and those with results, allocations or general
    reductions, innermost first. `outer`: all loops."""
    for function in functions(module):
        for op in reversed([op for op in operations(function) if is_parallel(op)]):
            inner = outer or len(op.results) or any(map(_is_loop, ancestors(op)))
            if inner or any(_is_update(child) or _is_allocation(child) for child in operations(op)):
                _serialize(op)
        for op in [op for op in operations(function) if _is_update(op)]:
            _load_and_store(op)


def _is_loop(op: ir.Operation) -> bool:
    return is_parallel(op) or is_serial_loop(op)


def _is_update(op: ir.Operation) -> bool:
    return op.name == Memref.GENERIC_ATOMIC_RMW


def _is_allocation(op: ir.Operation) -> bool:
    return op.name in (Memref.ALLOC, Memref.ALLOCA)


def _load_and_store(op: ir.Operation) -> None:
    """Read the element, do what the region does, and write it."""
    memref, *indices = op.operands
    body = op.regions[0].blocks[0]
    with before(op):
        values: dict[ir.Value, ir.Value] = {body.arguments[0]: b.read(memref, indices)}
        *steps, end = block_operations(body)
        for step in steps:
            clone(step, values)
        result = values.get(end.operands[0], end.operands[0])
        b.write(result, memref, indices)
    replace(op, [result])


def _serialize(op: ir.Operation) -> None:
    body = op.regions[0].blocks[0]
    rank = len(body.arguments)
    operands = list(op.operands)
    lower, upper, steps = (operands[k * rank : (k + 1) * rank] for k in range(3))
    bounds = list(zip(lower, upper, steps))
    with before(op):
        results = _nest(body, bounds, [], operands[3 * rank :])
    for result, value in zip(list(op.results), results):
        result.replace_all_uses_with(value)
    op.erase()


def _nest(
    body: ir.Block,
    bounds: Sequence[tuple[ir.Value, ir.Value, ir.Value]],
    indices: Sequence[ir.Value],
    carried: Sequence[ir.Value],
) -> list[ir.Value]:
    """Emit the loops over the axes that are left; what they carry, at their end."""
    if not bounds:
        return _iteration(body, indices, carried)
    loop = b.for_loop(*bounds[0], carried)
    with ir.InsertionPoint(loop.body):
        b.yield_(_nest(body, bounds[1:], [*indices, loop.induction], list(loop.carried)))
    return list(loop.op.results)


def _iteration(
    body: ir.Block, indices: Sequence[ir.Value], carried: Sequence[ir.Value]
) -> list[ir.Value]:
    """Emit one iteration; what is carried behind it."""
    values: dict[ir.Value, ir.Value] = dict(zip(body.arguments, indices))
    *ops, end = block_operations(body)
    for op in ops:
        clone(op, values)
    following = []
    for region, total, operand in zip(end.regions, carried, end.operands):
        combine = region.blocks[0]
        inner: dict[ir.Value, ir.Value] = dict(
            zip(combine.arguments, (total, values.get(operand, operand)))
        )
        *steps, result = block_operations(combine)
        for step in steps:
            clone(step, inner)
        assert result.name == Scf.REDUCE_RETURN
        following.append(inner.get(result.operands[0], result.operands[0]))
    return following
