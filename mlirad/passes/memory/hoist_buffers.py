"""Allocate the buffers of saved values once a chunk instead of once an iteration."""

from mlirad.bindings import ir
from mlirad.ir.ops import Func, Memref
from mlirad.ir.structured import is_parallel, is_serial_loop
from mlirad.ir.walk import (
    block_operations,
    enclosing,
    entry_of,
    functions,
    is_defined_in,
    operations,
)


def hoist_buffers(root: ir.Operation) -> None:
    """Move allocations whose size does not change out of all loops around them."""
    for function in functions(root):
        for op in list(operations(function)):
            if op.name in (Memref.ALLOC, Memref.ALLOCA) and _in_loop(op):
                _hoist(op)


def _in_loop(op: ir.Operation) -> bool:
    parent = enclosing(op)
    while parent.name != Func.FUNC:
        if is_serial_loop(parent):
            return True
        parent = enclosing(parent)
    return False


def _hoist(op: ir.Operation) -> None:
    """Move an allocation, and its release, to the outermost block where its size is known."""
    outermost = None
    parent = enclosing(op)
    while parent.name != Func.FUNC:
        if is_parallel(parent) or any(is_defined_in(v, parent) for v in op.operands):
            break
        if is_serial_loop(parent):
            outermost = parent
        parent = enclosing(parent)
    if outermost is None:
        return
    releases = [
        use.owner.operation
        for use in op.results[0].uses
        if use.owner.operation.name == Memref.DEALLOC
    ]
    op.move_before(outermost)
    for release in releases:
        terminator = (
            block_operations(outermost.block)[-1]
            if enclosing(outermost).name != Func.FUNC
            else block_operations(entry_of(enclosing(outermost)))[-1]
        )
        release.move_before(terminator)
