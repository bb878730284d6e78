"""Loads and stores of iterations that run as lanes.

Elements side by side are a vector in memory, others are gathered and scattered, one for all is
loaded once. No address is used that no active lane has.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.walk import before, defining_op, enclosing, owner_operation
from mlirad.passes.cpu._lane_values import Mask, Values, extract

_DYNAMIC = ir.ShapedType.get_dynamic_size()
_FEW = 1 << 31  # elements that offsets of 32 bits reach


@dataclass(frozen=True)
class Place:
    """Where an access goes: offsets into a flat array, the same in all lanes and one for each, or
    by how many elements lanes are apart, where that is known."""

    flat: ir.Value
    offset: ir.Value
    stride: int | None
    offsets: ir.Value | None


class Memory:
    """The accesses of one loop."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._flat: dict[ir.Value, tuple[ir.Value, list[ir.Value | int]]] = {}
        self._private: dict[ir.Value, ir.Value] = {}

    # Arrays.

    def prepare(self, memref: ir.Value, loop: ir.Operation) -> None:
        """See an array that the loop accesses as one axis, in front of the loop."""
        if memref in self._flat:
            return
        if memref in self.values.strides.private:
            self._flat[memref] = self._expanded(memref)
            return
        made = defining_op(memref)
        outermost = loop
        while enclosing(outermost).name != "func.func" and (
            made is None or enclosing(outermost) != enclosing(made)
        ):
            outermost = enclosing(outermost)
        with before(outermost):
            self._flat[memref] = _flattened(memref)

    def _expanded(self, memref: ir.Value) -> tuple[ir.Value, list[ir.Value | int]]:
        """A buffer of every lane for itself, with the lanes of an element side by side."""
        old, type_ = owner_operation(memref), ir.MemRefType(memref.type)
        stored = _stored_type(type_.element_type)
        with before(old):
            new_type = ir.MemRefType.get([*type_.shape, self.values.width], stored)
            sizes = {"operandSegmentSizes": old.attributes["operandSegmentSizes"]}
            made = ir.Operation.create(old.name, [new_type], list(old.operands), sizes)
            buffer = made.results[0]
            flat = _flattened(buffer)
        for use in memref.uses:
            if use.owner.operation.name == "memref.dealloc":
                with before(use.owner.operation):
                    b.effect("memref.dealloc", [buffer])
        self._private[memref] = buffer
        return flat

    # Accesses.

    def load(self, op: ir.Operation, mask: Mask) -> ir.Value:
        """What lanes load."""
        type_, values = op.results[0].type, self.values
        memref, *indices = op.operands
        if values.strides.of(op.results[0]) == 0:
            return b.read(memref, [values.first(index) for index in indices])
        place = self._place(memref, indices)
        kind = values.vector_type(_stored_type(type_) if memref in self._private else type_)
        loaded = self._loaded(place, kind, mask)
        if ir.VectorType(kind).element_type != type_:
            return b.make("arith.trunci", values.vector_type(type_), [loaded])
        return loaded

    def _loaded(self, place: Place, kind: ir.Type, mask: Mask) -> ir.Value:
        values = self.values
        zero = values.splat(0, ir.VectorType(kind).element_type)
        if place.stride == 1:
            if mask is None:
                return b.make("vector.load", kind, [place.flat, place.offset])
            return b.make("vector.maskedload", kind, [place.flat, place.offset, mask, zero])
        offset, offsets = self._offsets(place, mask)
        operands = [place.flat, offset, offsets, values.all_lanes(), zero]
        return b.make("vector.gather", kind, operands)

    def store(self, op: ir.Operation, mask: Mask) -> None:
        """Store what lanes have."""
        values = self.values
        value, memref, *indices = op.operands
        if memref not in values.strides.private and all(map(values.strides.is_uniform, indices)):
            self._store_last(op, mask)
            return
        place, vector = self._place(memref, indices), values.vector(value)
        if memref in self._private and _stored_type(value.type) != value.type:
            vector = b.make("arith.extui", values.vector_type(_stored_type(value.type)), [vector])
        if place.stride == 1:
            if mask is None:
                b.effect("vector.store", [vector, place.flat, place.offset])
            else:
                b.effect("vector.maskedstore", [place.flat, place.offset, mask, vector])
        else:
            offset, offsets = self._offsets(place, None)
            active = values.all_lanes() if mask is None else mask
            b.effect("vector.scatter", [place.flat, offset, offsets, active, vector])

    def _store_last(self, op: ir.Operation, mask: Mask) -> None:
        """Store one value for all lanes: the last one's."""
        values = self.values
        value, memref, *indices = op.operands
        places = [values.first(index) for index in indices]
        if values.strides.is_uniform(value):
            b.write(values.first(value), memref, places)
        elif mask is None:
            b.write(values.lane(value, values.width - 1), memref, places)
        else:
            for number in range(values.width):
                branch = b.if_else(extract(mask, number), [], with_else=False)
                with ir.InsertionPoint(branch.then):
                    b.write(values.lane(value, number), memref, places)
                    b.yield_()

    # Addresses.

    def _place(self, memref: ir.Value, indices: list[ir.Value]) -> Place:
        flat, steps = self._flat[memref]
        strides = [self.values.strides.of(index) for index in indices]
        offset = b.index(0)
        known: int | None = 0
        if memref in self._private:
            known = 1
        offsets: ir.Value | None = None
        for index, stride, step in zip(indices, strides, steps):
            if stride is None:
                part = self._times(self._narrow(self.values.vector(index), flat), step)
                offsets = part if offsets is None else b.add(offsets, part)
                continue
            offset = b.add(offset, _product(self.values.first(index), step))
            if stride and not isinstance(step, int):
                lanes = self.values.steps(stride, b.index_type())
                part = self._times(self._narrow(lanes, flat), step)
                offsets = part if offsets is None else b.add(offsets, part)
            elif known is not None and isinstance(step, int):
                known += stride * step
        if offsets is None:
            return Place(flat, offset, known, None)
        type_ = ir.VectorType(offsets.type).element_type
        if known:
            offsets = b.add(offsets, self.values.steps(known, type_))
        return Place(flat, offset, None, offsets)

    def _offsets(self, place: Place, mask: Mask) -> tuple[ir.Value, ir.Value]:
        """An offset of all lanes, and what each has beside it; 0 in lanes that are not active,
        because an element is there where any lane accesses one."""
        values = self.values
        offsets = place.offsets
        if offsets is None:
            assert place.stride is not None
            offsets = self._narrow(values.steps(place.stride, b.index_type()), place.flat)
        if mask is None:
            return place.offset, offsets
        type_ = ir.VectorType(offsets.type).element_type
        base = place.offset
        if not isinstance(type_, ir.IndexType):
            base = b.make("arith.index_cast", type_, [base])
        total = b.add(values.broadcast(base), offsets)
        return b.index(0), values.chosen(mask, total, values.splat(0, type_))

    def _narrow(self, vector: ir.Value, flat: ir.Value) -> ir.Value:
        """Indices in 32 bits where these reach all elements."""
        size = ir.MemRefType(flat.type).shape[0]
        if size == _DYNAMIC or size >= _FEW:
            return vector
        return b.make("arith.index_cast", self.values.vector_type(b.integer_type(32)), [vector])

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


def _stored_type(type_: ir.Type) -> ir.Type:
    """What an element is in memory: vectors of truth values would lie there in bits."""
    return b.integer_type(8) if type_ == b.integer_type(1) else type_


def _flattened(memref: ir.Value) -> tuple[ir.Value, list[ir.Value | int]]:
    """A memref as one axis, and by how many elements each index of it goes on."""
    type_ = ir.MemRefType(memref.type)
    strides, _ = type_.get_strides_and_offset()
    rank = len(strides)
    if all(stride != _DYNAMIC for stride in strides) and all(n != _DYNAMIC for n in type_.shape):
        size = 1 + sum((n - 1) * stride for n, stride in zip(type_.shape, strides))
        steps: list[ir.Value | int] = list(strides)
    else:
        size = _DYNAMIC
        index = b.index_type()
        base = ir.MemRefType.get([], type_.element_type)
        described = ir.Operation.create(
            "memref.extract_strided_metadata", [base, *[index] * (2 * rank + 1)], [memref]
        )
        found = list(described.results)[2 + rank :]
        steps = [s if s != _DYNAMIC else v for s, v in zip(strides, found)]
    flat = ir.MemRefType.get([size], type_.element_type)
    dynamic = [b.index(1)] if size == _DYNAMIC else []
    made = ir.Operation.create(
        "memref.reinterpret_cast",
        [flat],
        [memref, *dynamic],
        {
            "static_offsets": ir.DenseI64ArrayAttr.get([0]),
            "static_sizes": ir.DenseI64ArrayAttr.get([size]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(dynamic), 0]),
        },
    )
    return made.results[0], steps
