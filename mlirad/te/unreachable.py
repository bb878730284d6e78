"""Definitions that nothing needs any more."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlirad.bindings import ir
from mlirad.ir.walk import block_operations, captured, owner_operation


def reachable_ops(
    roots: Sequence[ir.Value], more: Mapping[ir.Value, Sequence[ir.Value]]
) -> set[ir.Operation]:
    """The ops that some values are made of; `more` are those that one needs besides."""
    reached_ops: set[ir.Operation] = set()
    pending = list(roots)
    while pending:
        op = owner_operation(pending.pop())
        if op not in reached_ops:
            reached_ops.add(op)
            pending += [*op.operands, *(captured(op) if len(op.regions) else [])]
            pending += [source for result in op.results for source in more.get(result, ())]
    return reached_ops


def erase_all_but(needed: Collection[ir.Operation], block: ir.Block) -> None:
    """Erase the ops of a block that are not kept, which those that are do not use."""
    for op in reversed(block_operations(block)):
        if op not in needed:
            op.erase()
