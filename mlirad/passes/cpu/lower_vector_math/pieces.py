"""Vectors of any shape, cut into those that a library has functions of."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Vector
from mlirad.passes.cpu.lower_vector_math.library import Library


def in_pieces(library: Library, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """A function of vectors, by calls of the library for as many elements at a time as it takes;
    the last are filled up by repeating theirs."""
    type_ = ir.VectorType(operands[0].type)
    count, lanes = prod(type_.shape), library.lanes(type_.element_type)
    row = ir.VectorType.get([count], type_.element_type)
    rows = [_reshaped(operand, row) for operand in operands]
    found = []
    for start in range(0, count, lanes):
        taken = [start + lane % min(lanes, count - start) for lane in range(lanes)]
        found.append(library.of_vectors(name, [_shuffled(each, each, taken) for each in rows]))
    while len(found) > 1:
        pairs = [*zip(found[::2], found[1::2])]
        found = [_joined(*pair) for pair in pairs] + found[2 * len(pairs) :]
    return _reshaped(_shuffled(found[0], found[0], [*range(count)]), type_)


def _joined(left: ir.Value, right: ir.Value) -> ir.Value:
    size = ir.VectorType(left.type).shape[0] + ir.VectorType(right.type).shape[0]
    return _shuffled(left, right, [*range(size)])


def _shuffled(left: ir.Value, right: ir.Value, mask: Sequence[int]) -> ir.Value:
    type_ = ir.VectorType(left.type)
    if left == right and list(mask) == list(range(type_.shape[0])):
        return left
    return b.make(
        Vector.SHUFFLE,
        ir.VectorType.get([len(mask)], type_.element_type),
        [left, right],
        mask=ir.DenseI64ArrayAttr.get(mask),
    )


def _reshaped(value: ir.Value, type_: ir.VectorType) -> ir.Value:
    return value if value.type == type_ else b.make(Vector.SHAPE_CAST, type_, [value])
