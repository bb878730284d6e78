"""Make updates of what parallel loops read of an array, add to and write back.

Updates of a serial loop are summed in registers (`sink-updates`), products of matrices in tiles;
the adjoint of an update leaves that of the element. Assumes that equal indices are one
value: run `cse` first.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import is_access, is_load, is_store, split_access
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import (
    ancestors,
    before,
    block_operations,
    defining_op,
    functions,
    operations,
)

REQUIRES = KERNELS


def raise_sums_to_updates(module: ir.Operation) -> None:
    """Replace a load, a sum and a store to the same element by an atomic addition."""
    for function in functions(module):
        for op in list(operations(function)):
            if is_store(op) and any(map(is_parallel, ancestors(op, function))):
                _raise(op)


def _raise(store: ir.Operation) -> None:
    total, *place = store.operands
    addition = defining_op(total)
    if addition is None or addition.name not in (Arith.ADDF, Arith.SUBF) or not _is_only_use(total):
        return
    for position, operand in enumerate(addition.operands):
        load = defining_op(operand)
        if load is None or not is_load(load) or not _is_only_use(operand):
            continue
        is_first = position == 0 or addition.name == Arith.ADDF
        if is_first and list(load.operands) == place and _are_together(load, store):
            _update(store, addition, load, addition.operands[1 - position])
            return


def _is_only_use(value: ir.Value) -> bool:
    return len(list(value.uses)) == 1


def _are_together(load: ir.Operation, store: ir.Operation) -> bool:
    """Return whether nothing changes the array between a load and a store."""
    if load.block != store.block:
        return False
    ops = block_operations(load.block)
    between = ops[ops.index(load) + 1 : ops.index(store)]
    array = store.operands[1]
    return not any(
        len(op.regions) or (is_access(op) and not is_load(op) and split_access(op)[0] == array)
        for op in between
    )


def _update(
    store: ir.Operation, addition: ir.Operation, load: ir.Operation, value: ir.Value
) -> None:
    with before(store):
        if addition.name == Arith.SUBF:
            value = b.negf(value)
        _, array, *indices = store.operands
        field.atomic(value, array, indices)
    for op in (store, addition, load):
        op.erase()
