"""Allocate the buffers of saved values once a chunk instead of once an iteration."""

from mlirad.bindings import ir
from mlirad.ir.ops import Memref
from mlirad.ir.structured import is_parallel, is_serial_loop
from mlirad.ir.walk import ancestors, block_operations, functions, is_defined_in, operations


def hoist_buffers(root: ir.Operation) -> None:
    """Move allocations out of all loops that do not change their size."""
    for function in functions(root):
        for op in list(operations(function)):
            if op.name in (Memref.ALLOC, Memref.ALLOCA):
                _hoist(op)


def _hoist(op: ir.Operation) -> None:
    """Move an allocation, and its release, to the outermost block where its size is known."""
    outermost = None
    for owner in ancestors(op):
        if is_parallel(owner) or any(is_defined_in(v, owner) for v in op.operands):
            break
        if is_serial_loop(owner):
            outermost = owner
    if outermost is None:
        return
    releases = [
        use.owner.operation
        for use in op.results[0].uses
        if use.owner.operation.name == Memref.DEALLOC
    ]
    op.move_before(outermost)
    for release in releases:
        release.move_before(block_operations(outermost.block)[-1])
