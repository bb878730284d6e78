"""Loops whose trips differ from thread to thread, in a form that tests before each."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import For, While
from mlirad.ir.walk import at_end, before, block_operations


def as_while(op: ir.Operation) -> ir.Operation:
    """Put a `while` loop in the place of a `for` loop, and return it."""
    lower, upper, step, *initial = op.operands
    with before(op):
        types = [value.type for value in (lower, *initial)]
        loop = b.while_loop([lower, *initial], types)
        with at_end(loop.before, op.location):
            index, *carried = loop.before.arguments
            b.go_on_if(b.compare(b.SLT, index, upper), [index, *carried])
    _move_body(For(op), loop, step)
    for old, new in zip(op.results, list(loop.op.results)[1:]):
        old.replace_all_uses_with(new)
    op.erase()
    return loop.op


def _move_body(old: For, loop: While, step: ir.Value) -> None:
    *body, last = block_operations(old.body)
    with at_end(loop.after, old.op.location):
        index = loop.after.arguments[0]
        b.yield_([b.add(index, step), *last.operands])
    following, end = block_operations(loop.after)
    for op in body:
        op.move_before(following)
    for argument, new in zip([old.induction, *old.carried], loop.after.arguments):
        argument.replace_all_uses_with(new)
    del end
