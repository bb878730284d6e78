"""Accesses of memory: each element on its own, and only if it is there and its mask is on."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Memref, Vector
from mlirad.ir.split_values.scalars import Rule, Scalars, SplitValues
from mlirad.ir.walk import at_end, constant_integer
from mlirad.passes.functions.scalarize_vectors.elements import (
    MaskedRule,
    Position,
    constant_bit,
    number_of,
    positions,
    require_memref,
    shape_of,
)

Conditions = list[ir.Value]
_LARGEST = (1 << 63) - 1  # index


def _open(conditions: Conditions) -> Conditions:
    """Return the conditions that are not known to hold."""
    return [condition for condition in conditions if constant_bit(condition) is not True]


def _read_if(
    conditions: Conditions, memory: ir.Value, indices: Sequence[ir.Value], other: ir.Value
) -> ir.Value:
    conditions = _open(conditions)
    if not conditions:
        return b.read(memory, indices)
    if any(constant_bit(condition) is False for condition in conditions):
        return other
    branch = b.if_else(b.all_of(conditions), [other.type])
    with at_end(branch.then, branch.op.location):
        b.yield_([b.read(memory, indices)])
    with at_end(branch.otherwise, branch.op.location):
        b.yield_([other])
    return branch.results[0]


def _write_if(
    conditions: Conditions, value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value]
) -> None:
    conditions = _open(conditions)
    if not conditions:
        b.write(value, memory, indices)
    elif not any(constant_bit(condition) is False for condition in conditions):
        branch = b.if_else(b.all_of(conditions), [], with_else=False)
        with at_end(branch.then, branch.op.location):
            b.write(value, memory, indices)
            b.yield_()


class Window:
    """The places of the elements of a vector in memory: some axes of the vector move along some
    axes of the memory."""

    def __init__(
        self,
        memory: ir.Value,
        start: Sequence[ir.Value],
        axes: Sequence[int | None],
        checked: Sequence[bool],
    ) -> None:
        self.memory, self.start, self.axes, self.checked = memory, list(start), axes, checked
        self._indices: dict[tuple[int, int], ir.Value] = {}
        self._conditions: dict[tuple[int, int], ir.Value] = {}

    def indices(self, position: Position) -> list[ir.Value]:
        """Return the indices of an element of the vector."""
        indices = list(self.start)
        for axis, offset in zip(self.axes, position, strict=True):
            if axis is not None:
                indices[axis] = self._index(axis, offset)
        return indices

    def conditions(self, position: Position) -> Conditions:
        """Return what has to hold for an element to be in the memory."""
        places = zip(self.axes, position, self.checked, strict=True)
        return [
            self._is_inside(axis, offset)
            for axis, offset, is_checked in places
            if is_checked and axis is not None
        ]

    def _index(self, axis: int, offset: int) -> ir.Value:
        if offset == 0:
            return self.start[axis]
        if (axis, offset) not in self._indices:
            first = constant_integer(self.start[axis])
            if first is None or first + offset > _LARGEST:
                index = b.add(self.start[axis], b.index(offset))
            else:
                index = b.index(first + offset)
            self._indices[axis, offset] = index
        return self._indices[axis, offset]

    def _is_inside(self, axis: int, offset: int) -> ir.Value:
        if (axis, offset) not in self._conditions:
            extent = ir.MemRefType(self.memory.type).shape[axis]
            first = constant_integer(self.start[axis])
            if extent >= 0 and first is not None:
                bit = b.number(0 <= first + offset < extent, b.integer_type(1))
            else:  # unsigned: an index below 0 is not inside either
                bit = b.compare(b.ULT, self._index(axis, offset), self._extent(axis, extent))
            self._conditions[axis, offset] = bit
        return self._conditions[axis, offset]

    def _extent(self, axis: int, extent: int) -> ir.Value:
        if extent >= 0:
            return b.index(extent)
        return b.make(Memref.DIM, b.index_type(), [self.memory, b.index(axis)])


def _transfer_window(op: ir.Operation, memory: ir.Value, start: Sequence[ir.Value]) -> Window:
    results = ir.AffineMapAttr(op.attributes["permutation_map"]).value.results
    axes = [
        ir.AffineDimExpr(result).position if isinstance(result, ir.AffineDimExpr) else None
        for result in results
    ]
    in_bounds = [ir.BoolAttr(bit).value for bit in ir.ArrayAttr(op.attributes["in_bounds"])]
    return Window(memory, start, axes, [not bit for bit in in_bounds])


def _segments(op: ir.Operation) -> list[list[ir.Value]]:
    operands = iter(op.operands)
    sizes = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(size)] for size in sizes]


def mask_numbers(op: ir.Operation, shape: Sequence[int]) -> list[int]:
    """Return the number of the bit of a transfer's mask for each element of the vector: a mask has
    the axes of the memory that are used, in their order there."""
    results = ir.AffineMapAttr(op.attributes["permutation_map"]).value.results
    moving = [
        (ir.AffineDimExpr(result).position, place)
        for place, result in enumerate(results)
        if isinstance(result, ir.AffineDimExpr)
    ]
    places = [place for _, place in sorted(moving)]
    extents = [shape[place] for place in places]
    return [number_of([p[place] for place in places], extents) for p in positions(shape)]


def _transfer_conditions(
    op: ir.Operation, window: Window, shape: Sequence[int], mask: Scalars | None
) -> list[Conditions]:
    conditions = [window.conditions(position) for position in positions(shape)]
    if mask is None:
        return conditions
    return [[mask[n], *c] for n, c in zip(mask_numbers(op, shape), conditions, strict=True)]


def transfer_read(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Read the elements that are in the memory; the others are the padding."""
    (memory,), start, (padding,), own_mask = _segments(op)
    require_memref(op, memory)
    if own_mask:
        mask = vectors.of(own_mask[0])
    shape, window = shape_of(op.results[0].type), _transfer_window(op, memory, start)
    conditions = _transfer_conditions(op, window, shape, mask)
    return [
        _read_if(c, memory, window.indices(position), padding)
        for position, c in zip(positions(shape), conditions, strict=True)
    ]


def transfer_write(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Write the elements that have a place in the memory."""
    (vector,), (memory,), start, own_mask = _segments(op)
    require_memref(op, memory)
    if own_mask:
        mask = vectors.of(own_mask[0])
    shape, window = shape_of(vector.type), _transfer_window(op, memory, start)
    conditions = _transfer_conditions(op, window, shape, mask)
    for position, value, c in zip(positions(shape), vectors.of(vector), conditions, strict=True):
        _write_if(c, value, memory, window.indices(position))
    return []


def _last_axes(memory: ir.Value, start: Sequence[ir.Value], shape: Sequence[int]) -> Window:
    axes = range(len(start) - len(shape), len(start))
    return Window(memory, start, axes, [False] * len(shape))


def load(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Read neighboring elements."""
    memory, *start = op.operands
    shape = shape_of(op.results[0].type)
    window = _last_axes(memory, start, shape)
    return [b.read(memory, window.indices(position)) for position in positions(shape)]


def store(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Write neighboring elements."""
    vector, memory, *start = op.operands
    shape = shape_of(vector.type)
    window = _last_axes(memory, start, shape)
    for position, value in zip(positions(shape), vectors.of(vector), strict=True):
        b.write(value, memory, window.indices(position))
    return []


def masked_load(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Read neighboring elements if their bits are set."""
    memory, *start, mask, other = op.operands
    shape = shape_of(mask.type)
    window = _last_axes(memory, start, shape)
    lanes = zip(positions(shape), vectors.of(mask), vectors.of(other), strict=True)
    return [_read_if([bit], memory, window.indices(p), value) for p, bit, value in lanes]


def masked_store(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Write neighboring elements if their bits are set."""
    memory, *start, mask, vector = op.operands
    shape = shape_of(mask.type)
    window = _last_axes(memory, start, shape)
    lanes = zip(positions(shape), vectors.of(mask), vectors.of(vector), strict=True)
    for position, bit, value in lanes:
        _write_if([bit], value, memory, window.indices(position))
    return []


def _moved(start: Sequence[ir.Value], offset: ir.Value) -> list[ir.Value]:
    """Return indices that are moved along the last axis."""
    offset = offset if offset.type == b.index_type() else b.to_index(offset)
    return [*start[:-1], b.add(start[-1], offset)]


def gather(op: ir.Operation, vectors: SplitValues, mask: Scalars | None) -> Scalars:
    """Read elements from anywhere along the last axis."""
    memory, *start, indices, own_mask, other = op.operands
    require_memref(op, memory)
    bits = vectors.of(own_mask)
    outer = [[bit] for bit in mask] if mask else [[] for _ in bits]
    lanes = zip(outer, bits, vectors.of(indices), vectors.of(other), strict=True)
    return [_read_if([*o, bit], memory, _moved(start, n), value) for o, bit, n, value in lanes]


def scatter(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Write elements to anywhere along the last axis, the last one last."""
    memory, *start, indices, mask, vector = op.operands
    require_memref(op, memory)
    for bit, n, value in zip(*map(vectors.of, (mask, indices, vector)), strict=True):
        _write_if([bit], value, memory, _moved(start, n))
    return []


def _ranks(bits: Scalars) -> list[ir.Value]:
    """Return for each bit how many before it are set."""
    ranks = [b.index(0)]
    for bit in bits[:-1]:
        step = b.index_castui(bit, b.index_type())
        ranks.append(b.add(ranks[-1], step))
    return ranks


def expand_load(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Read neighboring elements into the lanes whose bits are set."""
    memory, *start, mask, other = op.operands
    bits = vectors.of(mask)
    lanes = zip(bits, _ranks(bits), vectors.of(other), strict=True)
    return [_read_if([bit], memory, _moved(start, rank), value) for bit, rank, value in lanes]


def compress_store(op: ir.Operation, vectors: SplitValues) -> Scalars:
    """Write the elements whose bits are set side by side."""
    memory, *start, mask, vector = op.operands
    bits = vectors.of(mask)
    for bit, rank, value in zip(bits, _ranks(bits), vectors.of(vector), strict=True):
        _write_if([bit], value, memory, _moved(start, rank))
    return []


MASKABLE: dict[str, MaskedRule] = {
    Vector.TRANSFER_READ: transfer_read,
    Vector.TRANSFER_WRITE: transfer_write,
    Vector.GATHER: gather,
}
RULES: dict[str, Rule] = {
    Vector.LOAD: load,
    Vector.STORE: store,
    Vector.MASKEDLOAD: masked_load,
    Vector.MASKEDSTORE: masked_store,
    Vector.SCATTER: scatter,
    Vector.EXPANDLOAD: expand_load,
    Vector.COMPRESSSTORE: compress_store,
}
