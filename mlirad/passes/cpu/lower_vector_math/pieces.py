"""Vectors of any shape, cut into those that a library has functions of."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Vector
from mlirad.passes.cpu.lower_vector_math.library import Library


def call_in_pieces(library: Library, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """A function of vectors, by calls of the library for as many elements at a time as it takes;
    the last are filled up by repeating theirs."""
    type_ = ir.VectorType(operands[0].type)
    count, lanes = prod(type_.shape), library.lanes(type_.element_type)
    row = ir.VectorType.get([count], type_.element_type)
    rows = [_reshape(operand, row) for operand in operands]
    pieces = []
    for start in range(0, count, lanes):
        picked = [start + lane % min(lanes, count - start) for lane in range(lanes)]
        pieces.append(library.call_on_vectors(name, [_shuffle(row, row, picked) for row in rows]))
    while len(pieces) > 1:
        pairs = [*zip(pieces[::2], pieces[1::2])]
        pieces = [_join(*pair) for pair in pairs] + pieces[2 * len(pairs) :]
    return _reshape(_shuffle(pieces[0], pieces[0], [*range(count)]), type_)


def _join(left: ir.Value, right: ir.Value) -> ir.Value:
    size = ir.VectorType(left.type).shape[0] + ir.VectorType(right.type).shape[0]
    return _shuffle(left, right, [*range(size)])


def _shuffle(left: ir.Value, right: ir.Value, mask: Sequence[int]) -> ir.Value:
    type_ = ir.VectorType(left.type)
    if left == right and list(mask) == list(range(type_.shape[0])):
        return left
    return b.make(
        Vector.SHUFFLE,
        ir.VectorType.get([len(mask)], type_.element_type),
        [left, right],
        mask=ir.DenseI64ArrayAttr.get(mask),
    )


def _reshape(value: ir.Value, type_: ir.VectorType) -> ir.Value:
    return value if value.type == type_ else b.make(Vector.SHAPE_CAST, type_, [value])
