"""Move loads that a serial loop repeats unchanged in front of it, where they are certain to run and
to be in bounds."""

from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.dialect.field import is_load, split_access
from mlirad.ir import build as b
from mlirad.ir.memory.array_writes import may_be_written
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_for
from mlirad.ir.walk import (
    accesses,
    array_root,
    at_end,
    before,
    block_operations,
    functions,
    is_defined_in,
    operations,
)

REQUIRES = KERNELS


def hoist_loads(root: ir.Operation) -> None:
    """Move loads out of serial loops that do not write the loaded elements."""
    for function in functions(root):
        loops = [op for op in operations(function) if is_for(op)]
        for loop in reversed(loops):
            _hoist(loop)


def _hoist(loop: ir.Operation) -> None:
    written = {root for op, root, _ in accesses(loop) if not is_load(op)}
    body = loop.regions[0].blocks[0]
    loads = []
    for op in block_operations(body):
        if not is_load(op):
            continue
        array, indices = split_access(op)
        if may_be_written(array_root(array), written):
            continue
        if not any(is_defined_in(value, loop) for value in (array, *indices)):
            loads.append(op)
    if not loads:
        return
    if certainly_runs(loop):
        for op in loads:
            op.move_before(loop)
        return
    with before(loop):
        runs = b.compare(b.SLT, loop.operands[0], loop.operands[1])
        guard = b.if_else(runs, [op.results[0].type for op in loads])
    for op, result in zip(loads, guard.results):
        op.results[0].replace_all_uses_with(result)
    then, otherwise = guard.then, guard.otherwise
    with at_end(then, loop.location):
        b.yield_([])
    terminator = block_operations(then)[-1]
    for op in loads:
        op.move_before(terminator)
    terminator.erase()
    with at_end(then, loop.location):
        b.yield_([op.results[0] for op in loads])
    with at_end(otherwise, loop.location):
        b.yield_([b.number(0, op.results[0].type) for op in loads])
