"""Loads and stores of iterations that run as lanes.

Elements side by side are a vector in memory, others are gathered and scattered, one for all is
loaded once. No address is used that no active lane has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlirad.analysis.lanes.groups import Group
from mlirad.analysis.lanes.updates import Update
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Func, Memref, Vector
from mlirad.ir.vectors import (
    extract,
    load_apart,
    load_lanes,
    load_steps,
    reduce_lanes,
    store_apart,
    store_lanes,
)
from mlirad.ir.walk import attributes_of, before, defining_op, enclosing, is_inside, owner_operation
from mlirad.passes.cpu.insert_lanes.addresses import Addresses, Place, flatten_memref
from mlirad.passes.cpu.insert_lanes.lane_cells import cell_offsets, lane_cells
from mlirad.passes.cpu.insert_lanes.next_lanes import NextLanes
from mlirad.passes.cpu.insert_lanes.next_rows import NextRows
from mlirad.passes.cpu.insert_lanes.table_rows import (
    load_cells,
    load_columns,
    store_columns,
    update_cells,
)
from mlirad.passes.cpu.insert_lanes.values import Mask, Values, stored_type

_SHORT = (2, 3, 4)  # steps between elements that are loaded with those between them


class Memory:
    """The accesses of one loop."""

    def __init__(self, values: Values) -> None:
        self.values, self.addresses = values, Addresses(values)
        self._flat: dict[ir.Value, tuple[ir.Value, list[ir.Value | int]]] = {}
        self._private: dict[ir.Value, ir.Value] = {}
        # what is prefetched in the loops around, the innermost last
        self._next: list[NextLanes | NextRows | None] = []

    @contextmanager
    def fetching(self, following: NextLanes | NextRows | None) -> Iterator[None]:
        """Prefetch what the next lanes access in a loop; nothing for None."""
        self._next.append(following)
        try:
            yield
        finally:
            self._next.pop()

    def _fetch_next(self, place: Place, mask: Mask, *, is_write: bool = False) -> None:
        following = self._next[-1] if self._next else None
        if mask is None and following is not None:
            following.fetch(place, is_write=is_write)

    # Arrays.

    def prepare(self, memref: ir.Value, loop: ir.Operation) -> None:
        """See an array that the loop accesses as one axis, in front of the loop."""
        allocation = defining_op(memref)
        if memref in self._flat or (allocation is not None and is_inside(allocation, loop)):
            return
        if memref in self.values.strides.private:
            self._expand(memref)
            return
        outermost = loop
        while enclosing(outermost).name != Func.FUNC and (
            allocation is None or enclosing(outermost) != enclosing(allocation)
        ):
            outermost = enclosing(outermost)
        with before(outermost):
            self._flat[memref] = flatten_memref(memref)

    def _expand(self, memref: ir.Value) -> None:
        """Make a buffer of every lane for itself, with the lanes of an element side by side."""
        old = owner_operation(memref)
        with before(old):
            self._make(old, list(old.operands))
        for use in memref.uses:
            if use.owner.operation.name == Memref.DEALLOC:
                with before(use.owner.operation):
                    self.release(use.owner.operation)

    def _make(self, old: ir.Operation, sizes: list[ir.Value]) -> None:
        memref = old.results[0]
        type_ = ir.MemRefType(memref.type)
        shape = [*type_.shape, self.values.width]
        kind = ir.MemRefType.get(shape, stored_type(type_.element_type))
        segments = {"operandSegmentSizes": old.attributes["operandSegmentSizes"]}
        self._private[memref] = ir.Operation.create(old.name, [kind], sizes, segments).results[0]
        self._flat[memref] = flatten_memref(self._private[memref])

    def allocate(self, op: ir.Operation, mask: Mask) -> None:
        """Make a buffer that each iteration makes: as large as any lane wants it."""
        values = self.values
        zero, sizes = values.splat(0, b.index_type()), []
        for size in op.operands:
            if values.strides.is_uniform(size):
                sizes.append(values.first(size))
            else:
                active = values.select(mask, values.vector(size), zero)
                sizes.append(reduce_lanes(active, "maxsi"))
        self._make(op, sizes)

    def release(self, op: ir.Operation) -> None:
        """Give such a buffer back."""
        b.dealloc(self._private[op.operands[0]])

    # Accesses.

    def _place(self, memref: ir.Value, indices: list[ir.Value]) -> Place:
        flat, steps = self._flat[memref]
        return self.addresses.place(flat, steps, memref in self._private, indices)

    def lane_places(
        self, memref: ir.Value, indices: list[ir.Value], mask: Mask
    ) -> tuple[ir.Value, list[ir.Value]] | None:
        """Return an array as one axis, and the offset of each lane's access, if those of others are
        a known distance away; None if only some lanes are active."""
        if mask is not None or memref in self._private:
            return None
        flat, steps = self._flat.get(memref, (memref, []))
        offsets = lane_cells(self.values, flat, steps, indices) if steps else None
        return None if offsets is None else (flat, offsets)

    def load(self, op: ir.Operation, mask: Mask) -> ir.Value:
        """Return what lanes load."""
        type_, values = op.results[0].type, self.values
        memref, *indices = op.operands
        if values.strides.stride_of(op.results[0]) == 0:
            return b.read(memref, [values.first(index) for index in indices])
        places = self.lane_places(memref, indices, mask)
        if places is not None:
            flat, offsets = places
            return load_apart(flat, [[offset] for offset in offsets])
        place = self._place(memref, indices)
        kind = values.vector_type(stored_type(type_) if memref in self._private else type_)
        if memref in self._private and place.stride == 1:
            mask = None  # nobody cares what other lanes have
        self._fetch_next(place, mask)
        loaded = self._load(place, kind, mask)
        if ir.VectorType(kind).element_type != type_:
            return b.trunci(loaded, values.vector_type(type_))
        return loaded

    def _load(self, place: Place, kind: ir.Type, mask: Mask) -> ir.Value:
        values = self.values
        if place.stride in _SHORT and mask is None:
            return load_steps(place.flat, [place.offset], place.stride, kind)
        if place.stride == 1:
            return load_lanes(place.flat, [place.offset], kind, mask)
        if mask is None:
            return load_apart(place.flat, [[at] for at in self.addresses.lane_offsets(place)])
        zero = values.splat(0, ir.VectorType(kind).element_type)
        offsets, all_lanes = self.addresses.safe_offsets(place, mask), values.all_lanes()
        return b.make(Vector.GATHER, kind, [place.flat, b.index(0), offsets, all_lanes, zero])

    def store(self, op: ir.Operation, mask: Mask) -> None:
        """Store what lanes have."""
        values = self.values
        value, memref, *indices = op.operands
        if memref not in values.strides.private and all(map(values.strides.is_uniform, indices)):
            self._store_last(op, mask)
            return
        vector, places = values.vector(value), self.lane_places(memref, indices, mask)
        if places is not None:
            flat, offsets = places
            store_apart(vector, flat, [[offset] for offset in offsets])
            return
        place = self._place(memref, indices)
        self._fetch_next(place, mask, is_write=True)
        if memref in self._private and stored_type(value.type) != value.type:
            vector = b.extui(vector, values.vector_type(stored_type(value.type)))
        if place.stride == 1:
            if mask is not None and memref in self._private:
                # nothing else goes there: two ops where a store with a mask takes many, or waits
                old = load_lanes(place.flat, [place.offset], vector.type)
                vector, mask = values.select(mask, vector, old), None
            store_lanes(vector, place.flat, [place.offset], mask)
        elif mask is None:
            store_apart(vector, place.flat, [[at] for at in self.addresses.lane_offsets(place)])
        else:
            distances = self.addresses.lane_distances(place)
            b.effect(Vector.SCATTER, [place.flat, place.offset, distances, mask, vector])

    # Groups of accesses.

    def load_together(self, group: Group) -> None:
        """Load what all lanes have of a row, and keep it."""
        memref, *indices = group.at.operands
        if group.cell is not None:
            flat, _ = self._flat[memref]
            columns = load_cells(flat, cell_offsets(self.values, group.cell), group.length)
        else:
            place, width = self._place(memref, indices), self.values.width
            self._fetch_next(place, None)
            start = b.add(place.offset, b.index(group.start))
            columns = load_columns(place.flat, start, group.step, width, group.length)
        for op, number in zip(group.ops, group.numbers):
            self.values.set(op.results[0], columns[number])

    def store_together(self, group: Group) -> None:
        """Store what all lanes have of a row."""
        _, memref, *indices = group.at.operands
        place, width = self._place(memref, indices), self.values.width
        self._fetch_next(place, None, is_write=True)
        start = b.add(place.offset, b.index(group.start))
        columns = [self.values.vector(op.operands[0]) for op in group.ops]
        store_columns(columns, place.flat, start, group.step, width)

    def update_together(self, group: Group, updates: Sequence[Update]) -> None:
        """Combine rows with what all lanes have for them."""
        assert group.cell is not None
        flat, _ = self._flat[group.at.operands[1]]
        columns = [self.values.vector(update.value) for update in updates]
        (step,) = updates[0].steps

        def combine(old: ir.Value, row: ir.Value) -> ir.Value:
            return b.make(step.name, row.type, [old, row], **attributes_of(step))

        update_cells(columns, flat, cell_offsets(self.values, group.cell), combine)

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
