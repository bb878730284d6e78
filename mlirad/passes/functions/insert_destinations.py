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
from mlirad.ir.walk import before, block_operations, defining_op, operations


def insert_destinations(root: ir.Operation) -> None:
    """Copy the tensors that loops and branches yield into the memory of their results."""
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
    """Write the values that each block of a loop passes on to the memory of the other block's
    arguments."""
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
    """Copy what a block yields, behind the first operands, to targets; what is in the memory of
    another one's target by way of memory of its own."""
    end = block_operations(block)[-1]
    assert end.context.dialects[Bufferization.NAME]  # loads it
    listed = [(k, target) for k, target in enumerate(targets, skipped) if target is not None]
    moved = [(k, target) for k, target in listed if _is_tensor(end.operands[k])]
    for position, target in moved:
        value = end.operands[position]
        if any(_is_overwritten(value, t, k < position) for k, t in moved if t != target):
            with before(end):
                end.operands[position] = _copy(value)
    for position, target in moved:
        value = end.operands[position]
        if not _is_left_in(value, target):
            with before(end):
                copy = ir.Operation.create(
                    Bufferization.MATERIALIZE_IN_DESTINATION, [value.type], [value, target]
                )
            end.operands[position] = copy.results[0]


def _is_overwritten(value: ir.Value, target: ir.Value, is_earlier: bool) -> bool:
    """Return whether a tensor that is in the memory of a target is changed, or read behind what
    comes there: `is_earlier` says that it is."""
    return _beginning_of(value) == target and (value != target or is_earlier)


def _is_tensor(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def _copy(value: ir.Value) -> ir.Value:
    segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1, 0])}
    return ir.Operation.create(Bufferization.ALLOC_TENSOR, [value.type], [value], segments).results[
        0
    ]


def _is_left_in(value: ir.Value, target: ir.Value) -> bool:
    """Return whether a tensor is a target, or what loops that began with it leave there."""
    return _beginning_of(value, through=()) == target


def _beginning_of(
    value: ir.Value, through: Sequence[str] = (Tensor.INSERT, Tensor.INSERT_SLICE)
) -> ir.Value:
    """Return the tensor that loops, and operations of some names, made a tensor of."""
    op = defining_op(value)
    while op is not None and (is_for(op) or op.name == Affine.FOR or op.name in through):
        if op.name in through:
            value = op.operands[1]
        else:
            position = [result == value for result in op.results].index(True)
            value = op.operands[len(op.operands) - len(op.results) + position]
        op = defining_op(value)
    return value
