"""Reductions of parallel loops, an element at a time."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Scf
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Scalars, SplitValues
from mlirad.ir.walk import attributes_of, block_operations
from mlirad.passes.functions.scalarize_vectors.elements import count, is_vector
from mlirad.passes.functions.scalarize_vectors.elementwise import (
    constant_elements,
    is_elementwise,
    of_elements,
)


def reduce_elements(op: ir.Operation, vectors: SplitValues) -> ir.Operation:
    """Make the end of a parallel loop anew: a vector is reduced element by element, if its elements
    do not meet."""
    operands = list(op.operands)
    regions = sum(count(operand.type) for operand in operands)
    copy = ir.Operation.create(
        op.name, [], vectors.flatten(operands), attributes_of(op), regions=regions
    )
    targets = iter(copy.regions)
    for operand, region in zip(operands, op.regions):
        if not is_vector(operand.type):
            region.blocks[0].append_to(next(targets))
            continue
        for lane in range(count(operand.type)):
            _copy_lane(region.blocks[0], lane, next(targets), vectors)
    return copy


def _copy_lane(body: ir.Block, lane: int, target: ir.Region, vectors: SplitValues) -> None:
    """Copy what combines two vectors for one element of each."""
    element, location = b.element_of(body.arguments[0].type), body.arguments[0].location
    block = ir.Block.create_at_start(target, [element, element], [location] * 2)
    values: dict[ir.Value, ir.Value] = dict(zip(body.arguments, block.arguments))
    with ir.InsertionPoint(block):
        for op in block_operations(body):
            with op.location:
                operands = list(_lane_operands(op, lane, values, vectors))
                values.update(zip(op.results, _lane_results(op, lane, operands)))


def _lane_operands(
    op: ir.Operation, lane: int, values: dict[ir.Value, ir.Value], vectors: SplitValues
) -> Iterator[ir.Value]:
    for operand in op.operands:
        if operand in values:
            yield values[operand]
        else:
            elements = vectors.of(operand)
            yield elements[lane if is_vector(operand.type) else 0]


def _lane_results(op: ir.Operation, lane: int, operands: Scalars) -> Scalars:
    if op.name == Arith.CONSTANT:
        value = op.attributes["value"]
        value = constant_elements(op)[lane] if is_vector(op.results[0].type) else value
        return [b.make(Arith.CONSTANT, b.element_of(op.results[0].type), [], value=value)]
    if op.name != Scf.REDUCE_RETURN and not is_elementwise(op):
        refuse(op, f"'{op.name}' in a reduction of vectors, expected elementwise ops")
    return of_elements(op, operands)
