"""Give every thread its own copy of what a parallel loop only adds to, and add the copies up behind
the loop.

An update that chunks share (a particle adding to a grid, a pair force adding to a body) would be
atomic. Where the loop makes more updates than the array has elements to add up, a copy a thread is
cheaper. Only the axes that move with the loop are copied: `f[t, a] += ...` copies row t.
"""

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import is_atomic
from mlirad.ir.limits import Threads
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import Array, accesses, functions, has_uses, operations

REQUIRES = KERNELS


def insert_private_copies(module: ir.Operation, *, threads: Threads = 1) -> None:
    """Replace atomic updates by updates of a copy per thread, if this is cheaper."""
    if threads == 1:
        return
    for function in functions(module):
        for loop in [op for op in operations(function) if is_parallel(op)]:
            _privatise(module, loop, threads)


def _privatise(module: ir.Operation, loop: ir.Operation, threads: int) -> None:
    groups: dict[Array, list[ir.Operation]] = {}
    for op, root, _ in accesses(loop):
        groups.setdefault(root, []).append(op)
    for root, group in groups.items():
        shared = [op for op in group if PLAIN_MARK not in op.attributes]
        if isinstance(root, str) and shared and all(_is_sum(op) for op in group):
            from mlirad.passes.loops.insert_private_copies.private_copy import (
                copy_array,  # for few programs
            )

            copy_array(module, loop, shared, threads)


def _is_sum(op: ir.Operation) -> bool:
    return (
        is_atomic(op)
        and not has_uses(op.results[0])
        and REDUCE_MARK not in op.attributes
        and field.atomic_kind(op) == field.AtomicKind.ADD
    )
