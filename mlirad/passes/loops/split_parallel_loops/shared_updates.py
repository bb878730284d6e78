"""Loops that are faster on one thread because threads would meet in updates of memory."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic
from mlirad.ir.reductions import PLAIN_MARK, REDUCE_MARK
from mlirad.ir.structured import is_while
from mlirad.ir.walk import operations

# operations that an update takes about as long as: scalar ones, and those of vectors, which take
# less time each
_ATOMIC, _ATOMIC_AMONG_VECTORS, _PLAIN = 25, 100, 3


def shared_updates(loop: ir.Operation) -> list[ir.Operation]:
    """The updates of a parallel loop that are atomic where several threads share it."""
    return [
        op
        for op in operations(loop)
        if is_atomic(op) and PLAIN_MARK not in op.attributes and REDUCE_MARK not in op.attributes
    ]


def is_faster_alone(loop: ir.Operation, operations_of_all: int, updates: int, threads: int) -> bool:
    """Return whether one thread, whose updates are plain, needs no longer than all of them with
    atomics, for so many operations, of which some are such updates."""
    other_operations = operations_of_all - updates
    atomic = _ATOMIC if any(map(is_while, operations(loop))) else _ATOMIC_AMONG_VECTORS
    return other_operations + _PLAIN * updates <= (other_operations + atomic * updates) / threads
