"""Ops whose results are elements of their operands, in another order."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Vector
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Rule, Scalars, SplitValues
from mlirad.passes.functions.scalarize_vectors.elements import (
    Position,
    choose,
    count,
    integers,
    number_of,
    positions,
    shape_of,
    zero,
)

_DYNAMIC = -(1 << 63)


def broadcast(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Repeat a vector, along new axes and those of one element."""
    (source,) = op.operands
    elements, extents = vectors.of(source), shape_of(source.type)
    result = shape_of(op.results[0].type)
    return [
        elements[number_of(_stretched(position[len(result) - len(extents) :], extents), extents)]
        for position in positions(result)
    ]


def _stretched(position: Position, shape: Sequence[int]) -> Position:
    return tuple(0 if extent == 1 else p for p, extent in zip(position, shape, strict=True))


def same_order(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return the elements of all operands."""
    return vectors.flatten(list(op.operands))


def transpose(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Permute the axes."""
    (source,) = op.operands
    elements, extents = vectors.of(source), shape_of(source.type)
    permutation = integers(op, "permutation")
    places = [permutation.index(axis) for axis in range(len(extents))]
    return [
        elements[number_of([position[place] for place in places], extents)]
        for position in positions(shape_of(op.results[0].type))
    ]


def shuffle(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Pick rows of two vectors."""
    width = count(op.operands[0].type) // (shape_of(op.operands[0].type) or [1])[0]
    elements = vectors.flatten(list(op.operands))
    poison = [zero(b.element_of(op.results[0].type))] * width
    rows = [elements[at : at + width] for at in range(0, len(elements), width)]
    picked = [poison if number < 0 else rows[number] for number in integers(op, "mask")]
    return [element for row in picked for element in row]


def interleave(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Take elements from two vectors in turn."""
    return [element for pair in zip(*map(vectors.of, op.operands)) for element in pair]


def deinterleave(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return the even elements, then the odd ones."""
    elements = vectors.of(op.operands[0])
    return elements[::2] + elements[1::2]


def bitcast(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Read the bits of each element as another type."""
    source, result = op.operands[0].type, op.results[0].type
    if count(source) != count(result):
        refuse(op, f"'{op.name}' of {source} to {result}, expected elements of one width")
    type_ = b.element_of(result)
    elements = vectors.of(op.operands[0])
    return [e if e.type == type_ else b.bitcast(e, type_) for e in elements]


Place = list[int | ir.Value]


def _places(op: ir.Operation, dynamic: Sequence[ir.Value]) -> Place:
    """Return the position of an element or a row, as far as it is known in numbers."""
    numbers, remaining = integers(op, "static_position"), iter(dynamic)
    if numbers.count(_DYNAMIC) != len(dynamic):
        refuse(op, f"'{op.name}' at {len(dynamic)} positions, expected {numbers.count(_DYNAMIC)}")
    return [next(remaining) if number == _DYNAMIC else number for number in numbers]


def _is_at(place: Place, position: Position) -> list[ir.Value] | None:
    """Return what has to hold for a place to be a position, or None if it is not."""
    conditions = []
    for coordinate, number in zip(place, position, strict=False):
        if isinstance(coordinate, int):
            if coordinate != number:
                return None
        else:
            conditions.append(b.compare(b.EQ, coordinate, b.index(number)))
    return conditions


def extract(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return an element or a row; which one may be known only when the program runs."""
    source, *dynamic = op.operands
    place, elements = _places(op, dynamic), vectors.of(source)
    width = count(op.results[0].type)
    result = [zero(elements[0].type)] * width if -1 in place else []
    for position in positions(shape_of(source.type)[: len(place)]):
        conditions = _is_at(place, position)
        if conditions is None:
            continue
        start = width * number_of(position, shape_of(source.type)[: len(place)])
        row = elements[start : start + width]
        result = _rows_if(conditions, row, result or row)
    return result


def _rows_if(conditions: list[ir.Value], row: Scalars, other: Scalars) -> Scalars:
    if not conditions or row is other:
        return row
    condition = b.all_of(conditions)
    return [choose(condition, a, c) for a, c in zip(row, other, strict=True)]


def insert(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Replace an element or a row; which one may be known only when the program runs."""
    value, target, *dynamic = op.operands
    place, row, elements = _places(op, dynamic), vectors.of(value), vectors.of(target)
    result: Scalars = []
    for position in positions(shape_of(target.type)[: len(place)]):
        previous = elements[len(result) : len(result) + len(row)]
        conditions = _is_at(place, position)
        result += previous if conditions is None else _rows_if(conditions, row, previous)
    return result


def extract_strided_slice(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Return a box of a vector."""
    (source,) = op.operands
    elements, extents = vectors.of(source), shape_of(source.type)
    offsets = integers(op, "offsets")
    strides = integers(op, "strides")
    return [
        elements[number_of(_strided(position, offsets, strides), extents)]
        for position in positions(shape_of(op.results[0].type))
    ]


def _strided(position: Position, offsets: list[int], strides: list[int]) -> Position:
    """Return where a position of a box is; the last axes may be whole."""
    inside = [o + p * s for p, o, s in zip(position, offsets, strides, strict=False)]
    return (*inside, *position[len(inside) :])


def insert_strided_slice(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Replace a box of a vector."""
    source, target = op.operands
    result, extents = list(vectors.of(target)), shape_of(target.type)
    offsets, strides = integers(op, "offsets"), integers(op, "strides")
    leading = len(offsets) - len(strides)
    for position, element in zip(positions(shape_of(source.type)), vectors.of(source)):
        inner = _strided(position, offsets[leading:], strides)
        result[number_of([*offsets[:leading], *inner], extents)] = element
    return result


RULES: dict[str, Rule] = {
    Vector.BROADCAST: broadcast,
    Vector.SHAPE_CAST: same_order,
    Vector.FROM_ELEMENTS: same_order,
    Vector.TO_ELEMENTS: same_order,
    Vector.TRANSPOSE: transpose,
    Vector.SHUFFLE: shuffle,
    Vector.INTERLEAVE: interleave,
    Vector.DEINTERLEAVE: deinterleave,
    Vector.BITCAST: bitcast,
    Vector.EXTRACT: extract,
    Vector.INSERT: insert,
    Vector.EXTRACT_STRIDED_SLICE: extract_strided_slice,
    Vector.INSERT_STRIDED_SLICE: insert_strided_slice,
}
