"""Loops and branches that carry values that are split, and their ends."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Affine, Scf
from mlirad.ir.split_values.scalars import SplitValues
from mlirad.ir.walk import attributes_of

_SEGMENTS = "operandSegmentSizes"
HOLDERS = (
    *(Scf.FOR, Scf.IF, Scf.WHILE, Scf.PARALLEL),
    *("scf.execute_region", Scf.INDEX_SWITCH, Affine.FOR, "affine.if"),
)
ENDS = (Scf.YIELD, Scf.CONDITION, "affine.yield", Scf.REDUCE_RETURN)


def carry_scalars(op: ir.Operation, split: SplitValues) -> ir.Operation:
    """Make a loop or a branch anew that carries scalars, and move its blocks into it."""
    result_types = split.kind.flat_types([result.type for result in op.results])
    operands = split.flatten(list(op.operands))
    attributes = attributes_of(op)
    if _SEGMENTS in attributes:
        attributes[_SEGMENTS] = _segments(op, split)
    copy = ir.Operation.create(op.name, result_types, operands, attributes, regions=len(op.regions))
    for region, target in zip(op.regions, copy.regions):
        for block in list(region.blocks):
            block.append_to(target)
            split_arguments(block, split)
    split.bind_all(list(op.results), list(copy.results))
    return copy


def _segments(op: ir.Operation, split: SplitValues) -> ir.Attribute:
    types = iter([operand.type for operand in op.operands])
    sizes = ir.DenseI32ArrayAttr(op.attributes[_SEGMENTS])
    segments = [split.kind.flat_types([next(types) for _ in range(size)]) for size in sizes]
    return ir.DenseI32ArrayAttr.get([len(segment) for segment in segments])


def split_arguments(block: ir.Block, split: SplitValues) -> None:
    """Give a block scalars as arguments, behind the arguments that they replace."""
    arguments = list(block.arguments)
    if not any(split.kind.is_split(argument.type) for argument in arguments):
        return
    for argument in arguments:
        scalars: list[ir.Value] = [
            block.add_argument(type_, argument.location)
            for type_ in split.kind.flat_types([argument.type])
        ]
        split.bind(argument, scalars)
    split.blocks.append((block, len(arguments)))


def pass_scalars(op: ir.Operation, split: SplitValues) -> ir.Operation:
    """Make the end of a block anew that passes scalars on."""
    operands = split.flatten(list(op.operands))
    return ir.Operation.create(op.name, [], operands, attributes_of(op))
