"""Loops written out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import For
from mlirad.ir.walk import at_end, before, block_operations, clone


def unroll(
    loop: ir.Operation, indices: Sequence[ir.Value], conditions: Sequence[Sequence[ir.Value]] = ()
) -> None:
    """Write out a `for` loop: its body for some values of its index, each only where all of its
    conditions hold; all are known in front of the loop."""
    body, values = For(loop).body, list(loop.operands)[3:]
    guards = conditions or [[] for _ in indices]
    with before(loop):
        for index, guard in zip(indices, guards):
            copied = partial(_run_if, guard) if guard else _copy_body
            values = copied(body, index, values)
    for result, value in zip(list(loop.results), values):
        result.replace_all_uses_with(value)
    loop.erase()


def _copy_body(body: ir.Block, index: ir.Value, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Copy a body to the insertion point; what it carries on."""
    mapping: dict[ir.Value, ir.Value] = dict(zip(body.arguments, [index, *values]))
    *ops, end = block_operations(body)
    for op in ops:
        clone(op, mapping)
    return [mapping.get(value, value) for value in end.operands]


def _run_if(
    guard: Sequence[ir.Value], body: ir.Block, index: ir.Value, values: Sequence[ir.Value]
) -> list[ir.Value]:
    branch = b.if_else(b.all_of(list(guard)), [value.type for value in values], bool(values))
    with at_end(branch.then, branch.op.location):
        b.yield_(_copy_body(body, index, values))
    if values:
        with at_end(branch.otherwise, branch.op.location):
            b.yield_(list(values))
    return list(branch.op.results)
