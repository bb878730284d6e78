"""Addresses of iterations that run as lanes: offsets into arrays seen as one axis."""

from __future__ import annotations

import msgspec

from mlirad.analysis.lanes.steps import DYNAMIC, covered_elements
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Memref
from mlirad.ir.vectors import extract
from mlirad.passes.cpu.insert_lanes.values import Values

_FEW = 1 << 31  # elements that offsets of 32 bits reach


class Place(msgspec.Struct, frozen=True):
    """The place of an access: offsets into a flat array, the same in all lanes and one for each, or
    by how many elements lanes are apart, if that is known."""

    flat: ir.Value
    offset: ir.Value
    stride: int | None
    offsets: ir.Value | None


class Addresses:
    """The addresses of one loop."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def place(
        self, flat: ir.Value, steps: list[ir.Value | int], is_private: bool, indices: list[ir.Value]
    ) -> Place:
        """Return where an access goes, in an array whose indices go on in steps; in a buffer of
        their `own`, lanes lie side by side."""
        strides = [self.values.strides.stride_of(index) for index in indices]
        offset = b.index(0)
        constant_offset: int | None = int(is_private)
        offsets: ir.Value | None = None
        for index, stride, step in zip(indices, strides, steps):
            if stride is None:
                lane_offset = self._times(self._narrow(self.values.vector(index), flat), step)
                offsets = lane_offset if offsets is None else b.add(offsets, lane_offset)
                continue
            offset = b.add(offset, _product(self.values.first(index), step))
            if stride and not isinstance(step, int):
                lanes = self.values.steps(stride, b.index_type())
                lane_offset = self._times(self._narrow(lanes, flat), step)
                offsets = lane_offset if offsets is None else b.add(offsets, lane_offset)
            elif constant_offset is not None and isinstance(step, int):
                constant_offset += stride * step
        if offsets is None:
            return Place(flat, offset, constant_offset, None)
        type_ = ir.VectorType(offsets.type).element_type
        if constant_offset:
            offsets = b.add(offsets, self.values.steps(constant_offset, type_))
        return Place(flat, offset, None, offsets)

    def lane_distances(self, place: Place) -> ir.Value:
        """Return what each lane has beside the offset of all."""
        if place.offsets is not None:
            return place.offsets
        assert place.stride is not None
        return self._narrow(self.values.steps(place.stride, b.index_type()), place.flat)

    def lane_offsets(self, place: Place) -> list[ir.Value]:
        """The offsets of all lanes, one by one: cheaper than a vector of addresses, where the
        processor gathers no faster than it loads."""
        width = self.values.width
        if place.offsets is None:
            assert place.stride is not None
            return [b.add(place.offset, b.index(place.stride * k)) for k in range(width)]
        offsets = []
        for number in range(width):
            offset = extract(place.offsets, number)
            if not isinstance(offset.type, ir.IndexType):
                offset = b.to_index(offset)
            offsets.append(b.add(place.offset, offset))
        return offsets

    def safe_offsets(self, place: Place, mask: ir.Value) -> ir.Value:
        """The offsets of active lanes, and 0 in others: where any lane accesses an element, there
        is one."""
        values, offsets, base = self.values, self.lane_distances(place), place.offset
        type_ = ir.VectorType(offsets.type).element_type
        if not isinstance(type_, ir.IndexType):
            base = b.index_cast(base, type_)
        total = b.add(values.broadcast(base), offsets)
        return values.select(mask, total, values.splat(0, type_))

    def _narrow(self, vector: ir.Value, flat: ir.Value) -> ir.Value:
        """Indices in 32 bits where these reach all elements."""
        size = ir.MemRefType(flat.type).shape[0]
        if size == DYNAMIC or size >= _FEW:
            return vector
        return b.index_cast(vector, self.values.vector_type(b.integer_type(32)))

    def _times(self, vector: ir.Value, step: ir.Value | int) -> ir.Value:
        if step == 1:
            return vector
        type_ = ir.VectorType(vector.type).element_type
        if isinstance(step, int):
            return b.mul(vector, self.values.splat(step, type_))
        return b.mul(vector, self.values.broadcast(step))


def _product(index: ir.Value, step: ir.Value | int) -> ir.Value:
    if step == 1:
        return index
    return b.mul(index, b.index(step) if isinstance(step, int) else step)


def flatten_memref(memref: ir.Value) -> tuple[ir.Value, list[ir.Value | int]]:
    """A memref as one axis, and by how many elements each index of it goes on."""
    type_ = ir.MemRefType(memref.type)
    strides, _ = type_.get_strides_and_offset()
    rank = len(strides)
    size = covered_elements(type_)
    if size != DYNAMIC:
        steps: list[ir.Value | int] = list(strides)
    else:
        index = b.index_type()
        base = ir.MemRefType.get([], type_.element_type)
        described = ir.Operation.create(
            Memref.EXTRACT_STRIDED_METADATA, [base, *[index] * (2 * rank + 1)], [memref]
        )
        count, element_steps = b.index(1), list(described.results)[2 + rank :]
        for extent in list(described.results)[2 : 2 + rank]:
            count = b.mul(count, extent)
        steps = [s if s != DYNAMIC else v for s, v in zip(strides, element_steps)]
    flat = ir.MemRefType.get([size], type_.element_type)
    dynamic = [count] if size == DYNAMIC else []
    description = ir.Operation.create(
        Memref.REINTERPRET_CAST,
        [flat],
        [memref, *dynamic],
        {
            "static_offsets": ir.DenseI64ArrayAttr.get([0]),
            "static_sizes": ir.DenseI64ArrayAttr.get([size]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
        },
    )
    return description.results[0], steps
