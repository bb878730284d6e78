"""One-line creation of ops on vectors of one axis, the lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import loose_mark
from mlirad.ir.ops import Arith, Vector
from mlirad.ir.walk import defining_op


@lru_cache(maxsize=64)
def vector_of(lanes: int, element: ir.Type) -> ir.Type:
    """A vector of a number of lanes."""
    return ir.VectorType.get([lanes], element)


def spread(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A vector of one number."""
    op = defining_op(value)
    if op is not None and op.name == Arith.CONSTANT:
        return b.make(
            Arith.CONSTANT,
            type_,
            [],
            value=ir.DenseElementsAttr.get_splat(type_, op.attributes["value"]),
        )
    return b.make(Vector.BROADCAST, type_, [value])


def first_lanes(lanes: int, count: ir.Value) -> ir.Value:
    """A mask of as many of the first lanes as a number says, if there are so many."""
    return b.make(Vector.CREATE_MASK, vector_of(lanes, b.integer_type(1)), [count])


def invert_mask(mask: ir.Value) -> ir.Value:
    """A mask that is on where another is off."""
    return b.xori(mask, b.number(1, mask.type))


def load_lanes(
    memref: ir.Value, indices: Sequence[ir.Value], type_: ir.Type, mask: ir.Value | None = None
) -> ir.Value:
    """Neighboring elements; 0 where a mask is off, and not touched there."""
    if mask is None:
        return b.make(Vector.LOAD, type_, [memref, *indices])
    return b.make(Vector.MASKEDLOAD, type_, [memref, *indices, mask, b.number(0.0, type_)])


def load_steps(
    memref: ir.Value,
    indices: Sequence[ir.Value],
    step: int,
    type_: ir.Type,
    mask: ir.Value | None = None,
) -> ir.Value:
    """Elements that are a few steps apart along the last axis, out of all from the first to the
    last; 0 where a mask is off. What lies between lanes that are on may be read."""
    if step == 1:
        return load_lanes(memref, indices, type_, mask)
    width = ir.VectorType(type_).shape[0]
    starts = [min(piece * width, (width - 1) * step + 1 - width) for piece in range(step)]
    pieces = []
    for start in starts:
        at = [*indices[:-1], b.add(indices[-1], b.index(start))]
        piece_mask = None if mask is None else _mask_of_piece(mask, start, step)
        pieces.append(load_lanes(memref, at, type_, piece_mask))
    vector = pieces[0]
    for number in range(1, step):
        picked = []
        for lane in range(width):
            at_element = lane * step
            piece = min(at_element // width, step - 1)
            earlier = lane if number > 1 else at_element
            new = width + at_element - starts[number] if piece == number else -1
            picked.append(earlier if piece < number else new)
        vector = _shuffle(vector, pieces[number], picked)
    return vector


def _mask_of_piece(mask: ir.Value, start: int, step: int) -> ir.Value:
    """Return which elements of a piece that begins somewhere are those of lanes that are on."""
    width = ir.VectorType(mask.type).shape[0]
    elements = [start + number for number in range(width)]
    picked = [width if element % step else element // step for element in elements]
    return _shuffle(mask, b.number(0, mask.type), picked)


def _shuffle(left: ir.Value, right: ir.Value, picked: Sequence[int]) -> ir.Value:
    mask = ir.DenseI64ArrayAttr.get(list(picked))
    return b.make(Vector.SHUFFLE, left.type, [left, right], mask=mask)


def transpose_rows(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the columns of a square matrix whose rows are vectors, as many as their lanes, a power
    of 2: by interleaving rows that are half of the square apart, once for each power."""
    count, vectors = len(rows), list(rows)
    halves = [
        [lane // 2 + start + count * (lane % 2) for lane in range(count)]
        for start in (0, count // 2)
    ]
    for _ in range(count.bit_length() - 1):
        pairs = list(zip(vectors[: count // 2], vectors[count // 2 :]))
        vectors = [_shuffle(*pair, picked) for pair in pairs for picked in halves]
    return vectors


def transpose_quarters(quarters: Sequence[ir.Value]) -> list[ir.Value]:
    """Four vectors, a row of a table of four columns in every four lanes, as its columns: row
    k + 4 n in lanes 4 n to 4 n + 3 of vector k. The other way round it is the same."""
    width = ir.VectorType(quarters[0].type).shape[0]
    starts = range(0, width, 4)
    singles = [
        [place for start in starts for n in pair for place in (start + n, width + start + n)]
        for pair in ((0, 1), (2, 3))
    ]
    pairs = [
        [side + start + n for start in starts for side in (0, width) for n in pair]
        for pair in ((0, 1), (2, 3))
    ]
    first, second, third, fourth = quarters
    columns = []
    for picked in singles:
        left, right = _shuffle(first, second, picked), _shuffle(third, fourth, picked)
        columns += [_shuffle(left, right, lanes) for lanes in pairs]
    return columns


def split_pairs(first: ir.Value, second: ir.Value) -> list[ir.Value]:
    """Two vectors of pairs as vectors of their first and second elements: of every four pairs, the
    first vector has two, then the second."""
    width = ir.VectorType(first.type).shape[0]
    starts = range(0, width, 4)
    picked = [
        [start + n for start in starts for n in (k, k + 2, width + k, width + k + 2)]
        for k in (0, 1)
    ]
    return [_shuffle(first, second, lanes) for lanes in picked]


def pair_columns(left: ir.Value, right: ir.Value) -> list[ir.Value]:
    """Return the vectors of pairs of which `split_pairs` gives these columns."""
    width = ir.VectorType(left.type).shape[0]
    starts = range(0, width, 4)
    picked = [
        [side + start + n for start in starts for n in (k, k + 1) for side in (0, width)]
        for k in (0, 2)
    ]
    return [_shuffle(left, right, lanes) for lanes in picked]


def join_vectors(vectors: Sequence[ir.Value]) -> ir.Value:
    """Vectors of one length, as many as a power of 2, one behind the other."""
    while len(vectors) > 1:
        lanes = 2 * ir.VectorType(vectors[0].type).shape[0]
        kind = vector_of(lanes, ir.VectorType(vectors[0].type).element_type)
        mask = ir.DenseI64ArrayAttr.get(list(range(lanes)))
        vectors = [
            b.make(Vector.SHUFFLE, kind, [left, right], mask=mask)
            for left, right in zip(vectors[::2], vectors[1::2])
        ]
    return vectors[0]


def shift_lanes(vector: ir.Value, count: int) -> ir.Value:
    """A vector without its first lanes, and zeros behind the others."""
    lanes = range(count, count + ir.VectorType(vector.type).shape[0])
    return _shuffle(vector, b.number(0, vector.type), lanes)


def part_of(vector: ir.Value, start: int, lanes: int) -> ir.Value:
    """Neighboring lanes."""
    kind = ir.VectorType(vector.type)
    if lanes == kind.shape[0]:
        return vector
    return b.make(
        Vector.EXTRACT_STRIDED_SLICE,
        vector_of(lanes, kind.element_type),
        [vector],
        offsets=_numbers(start),
        sizes=_numbers(lanes),
        strides=_numbers(1),
    )


def store_lanes(
    value: ir.Value, memref: ir.Value, indices: Sequence[ir.Value], mask: ir.Value | None = None
) -> None:
    """Write neighboring elements, but where a mask is off."""
    if mask is None:
        b.effect(Vector.STORE, [value, memref, *indices])
    else:
        b.effect(Vector.MASKEDSTORE, [memref, *indices, mask, value])


def extract(vector: ir.Value, number: int) -> ir.Value:
    """An element of a vector."""
    type_ = ir.VectorType(vector.type).element_type
    position = ir.DenseI64ArrayAttr.get([number])
    return b.make(Vector.EXTRACT, type_, [vector], static_position=position)


def from_elements(values: Sequence[ir.Value]) -> ir.Value:
    """A vector of some values."""
    type_ = ir.VectorType.get([len(values)], values[0].type)
    return b.make(Vector.FROM_ELEMENTS, type_, list(values))


def load_apart(memref: ir.Value, places: Sequence[Sequence[ir.Value]]) -> ir.Value:
    """Elements that lie anywhere: one by one, as no processor gathers them faster."""
    return from_elements([b.read(memref, place) for place in places])


def store_apart(value: ir.Value, memref: ir.Value, places: Sequence[Sequence[ir.Value]]) -> None:
    """Write elements that lie anywhere."""
    for number, place in enumerate(places):
        b.write(extract(value, number), memref, place)


def multiply_add(x: ir.Value, y: ir.Value, z: ir.Value, *, fused: bool) -> ir.Value:
    """`x * y + z`, a step of a loose sum, rounded once where the target can."""
    if fused:
        return b.fma(x, y, z, **loose_mark())
    return b.addf(z, b.mulf(x, y, **loose_mark()), **loose_mark())


def sum_of_lanes(vector: ir.Value) -> ir.Value:
    """All lanes added up, in any order."""
    kind = ir.Attribute.parse("#vector.kind<add>")
    flags = ir.Attribute.parse("#arith.fastmath<reassoc>")
    element = ir.VectorType(vector.type).element_type
    return b.make(Vector.REDUCTION, element, [vector], kind=kind, fastmath=flags)


def any_lane(mask: ir.Value) -> ir.Value:
    """Return whether a mask has an active lane."""
    return reduce_lanes(mask, "or")


def reduce_lanes(vector: ir.Value, kind: str) -> ir.Value:
    """Combine all elements of a vector of integers."""
    return b.make(
        Vector.REDUCTION,
        ir.VectorType(vector.type).element_type,
        [vector],
        kind=ir.Attribute.parse(f"#vector.kind<{kind}>"),
    )


def reduce_in_halves(
    vector: ir.Value, name: str, attributes: Mapping[str, ir.Attribute]
) -> ir.Value:
    """All elements of a vector, as many as a power of 2, combined by an op in halves."""
    type_, width = ir.VectorType(vector.type).element_type, ir.VectorType(vector.type).shape[0]
    while width > 1:
        width //= 2
        half = vector_of(width, type_)
        halves = [part_of(vector, start, width) for start in (0, width)]
        vector = b.make(name, half, halves, **attributes)
    first = ir.DenseI64ArrayAttr.get([0])
    return b.make(Vector.EXTRACT, type_, [vector], static_position=first)


def _numbers(value: int) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.IntegerAttr.get(b.integer_type(64), value)])
