"""Remove accesses of local arrays (`field.alloca`): a load of what the same block, or one around
it, stored to the same element before, and the stores to an array that nothing reads.

Fields and arguments keep theirs: between a store and a load of a field lies its gradient, which
programs read. So do local arrays that are used by more than loads, stores and atomics; and within
a parallel loop that writes to an array, nothing is known of it.
"""

from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.dialect.field import (
    AllocaOp,
    is_access,
    is_atomic,
    is_load,
    is_store,
    is_write,
    split_access,
)
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    block_operations,
    constant_integer,
    entry_of,
    functions,
    has_uses,
    operations,
    owner_operation,
    replace,
    users_of,
)

REQUIRES = KERNELS

Index: TypeAlias = tuple["int | ir.Value", ...]
Stored: TypeAlias = dict[ir.Value, dict[Index, ir.Value]]  # by array and index: the value


def remove_local_accesses(root: ir.Operation) -> None:
    """Remove loads of local arrays whose values are known from a store, and local arrays that are
    never read."""
    for function in functions(root):
        arrays = {op.results[0] for op in operations(function) if _is_local(op)}
        if arrays:
            _visit(entry_of(function), {array: {} for array in arrays})
            for array in arrays:
                _remove_if_unread(array)


def _is_local(op: ir.Operation) -> bool:
    """Return whether an op makes an array that is used by accesses alone."""
    return AllocaOp.holds(op) and all(
        is_access(user) and split_access(user)[0] == op.results[0]
        for user in users_of(op.results[0])
    )


def _visit(block: ir.Block, stored: Stored) -> None:
    """Forward what is stored in a block, for arrays of which something may be known."""
    for op in block_operations(block):
        if is_access(op):
            _access(op, stored)
        elif len(op.regions):
            _visit_regions(op, stored)


def _access(op: ir.Operation, stored: Stored) -> None:
    array, indices = split_access(op)
    if array not in stored:
        return
    index = tuple(_index(value) for value in indices)
    if is_load(op):
        if index in stored[array]:
            replace(op, [stored[array][index]])
        return
    stored[array] = {k: v for k, v in stored[array].items() if _differ(k, index)}
    if is_store(op):
        stored[array][index] = op.operands[0]


def _visit_regions(op: ir.Operation, stored: Stored) -> None:
    """Visit what is in an operation; of arrays that it writes to, nothing is known at the start of
    its blocks and behind it, and within a parallel loop nothing at all."""
    written = {split_access(inner)[0] for inner in operations(op) if is_write(inner)}
    for region in op.regions:
        for inner_block in region.blocks:
            inside = {array: dict(v) for array, v in stored.items() if array not in written}
            if not is_parallel(op):
                inside |= {array: {} for array in stored if array in written}
            _visit(inner_block, inside)
    for array in written & stored.keys():
        stored[array] = {}


def _index(value: ir.Value) -> int | ir.Value:
    constant = constant_integer(value)
    return value if constant is None else constant


def _differ(index: Index, other_index: Index) -> bool:
    """Return whether two indices are certainly not those of one element."""
    return any(
        isinstance(i, int) and isinstance(j, int) and i != j for i, j in zip(index, other_index)
    )


def _remove_if_unread(array: ir.Value) -> None:
    users = [*users_of(array)]
    if all(is_store(op) or (is_atomic(op) and not has_uses(op.results[0])) for op in users):
        for op in users:
            op.erase()
        owner_operation(array).erase()
