"""Variables of a kernel that lie in memory while a parallel loop runs, because it changes them."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, StoreOp, split_access
from mlirad.ir.walk import constant_integer, defining_op, is_defined_in, operations


def sets_variable(loop: ir.Operation) -> bool:
    """Whether iterations set a variable from outside of their loop (`a = a * x[i]`), or the same
    elements of one: what it is at last, and in between, depends on their order. Sums (`a += x[i]`)
    do not."""
    return any(StoreOp.holds(op) and _is_shared(op, loop) for op in operations(loop))


def _is_shared(store: ir.Operation, loop: ir.Operation) -> bool:
    array, indices = split_access(store)
    made = defining_op(array)
    return (
        made is not None
        and AllocaOp.holds(made)
        and not is_defined_in(array, loop)
        and not any(constant_integer(i) is None and is_defined_in(i, loop) for i in indices)
    )
