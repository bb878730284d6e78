"""What a function does, in place of a call."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.walk import block_operations, entry_of


def insert_body(function: ir.Operation, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Do what a function of one block does with some values at the insertion point, and return what
    it returns."""
    with ir.InsertionPoint(function):
        copy = function.clone().operation
    block = entry_of(copy)
    for argument, value in zip(block.arguments, values):
        argument.replace_all_uses_with(value)
    *body, last = block_operations(block)
    results = list(last.operands)
    for child in body:
        child.detach_from_parent()
        ir.InsertionPoint.current.insert(child)
    copy.erase()
    return results
