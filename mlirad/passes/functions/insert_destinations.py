"""Have loops and branches give tensors in memory that is there before them.

A loop that carries a tensor leaves it where the tensor was that it began with, and the branches of
an `scf.if` leave theirs in one buffer. So no memref is carried when tensors are buffers. Nothing is
assumed; results of branches whose extents the type leaves open stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.ops import Affine, Bufferization, Tensor
from mlirad.ir.structured import is_branch, is_for, is_while
from mlirad.ir.walk import before, block_operations, operations


def insert_destinations(root: ir.Operation) -> None:
    """Copy the tensors that loops and branches yield to where their results are."""
    for op in list(operations(root)):
        if is_for(op) or op.name == Affine.FOR:
            _leave(op.regions[0].blocks[0], list(op.regions[0].blocks[0].arguments)[1:])
        elif is_branch(op):
            _leave_in_one(op)
        elif is_while(op):
            _leave_in_turn(op)


def _leave_in_one(op: ir.Operation) -> None:
    with before(op):
        targets = [_empty(result.type) for result in op.results]
    for region in op.regions:
        for block in region.blocks:
            _leave(block, targets)


def _leave_in_turn(op: ir.Operation) -> None:
    """What each block of a loop passes on goes to where the other one has it."""
    first, second = (region.blocks[0] for region in op.regions)
    types = [argument.type for argument in first.arguments]
    if types == [argument.type for argument in second.arguments]:
        _leave(first, list(first.arguments), skipped=1)
        _leave(second, list(second.arguments))


def _empty(type_: ir.Type) -> ir.Value | None:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        return None
    return ir.Operation.create(Tensor.EMPTY, [type_]).results[0]


def _leave(block: ir.Block, targets: Sequence[ir.Value | None], skipped: int = 0) -> None:
    """Copy what a block yields, behind the first operands, to targets."""
    end = block_operations(block)[-1]
    for position, target in enumerate(targets, skipped):
        value = end.operands[position]
        is_tensor = isinstance(value.type, ir.RankedTensorType)
        if target is None or not is_tensor or value == target:
            continue
        assert end.context.dialects[Bufferization.NAME]  # loads it
        with before(end):
            copy = ir.Operation.create(
                Bufferization.MATERIALIZE_IN_DESTINATION, [value.type], [value, target]
            )
        end.operands[position] = copy.results[0]
