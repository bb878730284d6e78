"""Panels: elements of a factor that a block has in its memory, for a few trips of the sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.contractions.thread_products import Factor, range_of
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_of, array_type, split_access
from mlirad.ir import build as b
from mlirad.ir.gpu.box_points import Axis, Point, Values
from mlirad.ir.walk import at_end

VECTOR = 4  # neighbors that are read at once; so many lie between rows, so that threads that store
# to several rows meet no bank twice
_BUFFERS = 2  # one is read while the other is written


class Panel:
    """The panels of one factor, of so many `trips` of the sum each: `axis` are its rows, or its
    columns, of which a tile has `size`."""

    def __init__(
        self, factor: Factor, axis: Axis, sums: Axis, size: int, trips: int, threads: int
    ) -> None:
        self.factor, self.axis, self.sums = factor, axis, sums
        self.size, self.trips, self.threads = size, trips, threads
        self.type = factor.value.type
        self.is_along_sum = _last_index(factor, sums.indices[-1:]) is not None
        self.count = size * self.trips // threads

    def open(self, point: Values, first: ir.Value, thread: ir.Value) -> None:
        """Make the memory, and what a thread knows in front of all panels: which rows it brings."""
        extents = [_BUFFERS, self.trips, self.size // VECTOR + 1, VECTOR]
        self.memory = field.shared(array_type(self.type, extents))
        width = self.trips if self.is_along_sum else self.size
        places = [self._place(thread, q, width) for q in range(self.count)]
        self.places = [(c, d) if self.is_along_sum else (d, c) for c, d in places]
        numbers = [self.axis.clamp(b.add(first, row), self.size) for _, row in self.places]
        self.points = [{**point, **self.axis.at(number)} for number in numbers]

    def _place(self, thread: ir.Value, q: int, width: int) -> tuple[ir.Value, ir.Value]:
        """Return where the element `q` of a thread lies in rows of `width` elements, and in which
        row. Neighboring threads have neighboring elements."""
        if width <= self.threads:
            across, down = b.rem(thread, b.index(width)), b.div(thread, b.index(width))
            return across, b.add(down, b.index(q * (self.threads // width))) if q else down
        row, turn = divmod(q, width // self.threads)
        return b.add(thread, b.index(turn * self.threads)) if turn else thread, b.index(row)

    def read(self, loop: ir.Operation, first_trip: ir.Value) -> list[ir.Value]:
        """Load the part of a panel that a thread brings."""
        values = []
        start = self.sums.start(first_trip, self.trips)
        for (trip, _), point in zip(self.places, self.points):
            number = b.add(first_trip, trip)
            indices = (
                start.behind(trip) if start else self.sums.at(self.sums.clamp(number, self.trips))
            )
            place = Point(loop, {**point, **indices})
            value = self._element(place)
            if not self.sums.fills(self.trips):
                value = b.select(self.sums.has(number), value, b.number(0.0, self.type))
            values.append(value)
        return values

    def write(self, values: Sequence[ir.Value], buffer: ir.Value) -> None:
        """Leave what a thread brings in a buffer of the block's memory."""
        for value, (trip, row) in zip(values, self.places):
            place = [b.div(row, b.index(VECTOR)), b.rem(row, b.index(VECTOR))]
            field.store(value, self.memory, [buffer, trip, *place])

    def vectors(self, buffer: ir.Value, trip: int, vectors: Sequence[ir.Value]) -> list[ir.Value]:
        """The elements of a trip that a thread multiplies, by the numbers of their vectors."""
        return [
            field.load(self.memory, [buffer, b.index(trip), vector, b.index(lane)])
            for vector in vectors
            for lane in range(VECTOR)
        ]

    def _element(self, place: Point) -> ir.Value:
        """An element of the factor; 0 where its conditions do not hold."""
        conditions = []
        for value, holds in self.factor.conditions:
            condition = place.value(value)
            conditions.append(condition if holds else b.xori(condition, _true()))
        if not self.factor.is_always_read:
            conditions += self._inside(place)
        if not conditions:
            return place.value(self.factor.value)
        return _where(b.all_of(conditions), self.type, lambda: place.value(self.factor.value))

    def _inside(self, place: Point) -> list[ir.Value]:
        """Return the conditions for elements to exist, where the loop might not read them."""
        conditions = []
        for array, indices in map(split_access, self.factor.loads):
            for axis, (index, extent) in enumerate(zip(indices, array_of(array.type)[1])):
                if not _is_between(index, extent):
                    number = place.value(index)
                    size = field.dim(array, axis) if extent < 0 else b.index(extent)
                    conditions.append(b.compare(b.ULT, number, size))
        return conditions


def _true() -> ir.Value:
    return b.number(1, b.integer_type(1))


def _where(condition: ir.Value, type_: ir.Type, make: Callable[[], ir.Value]) -> ir.Value:
    """A value where a condition holds, and 0 elsewhere."""
    branch = b.if_else(condition, [type_])
    with at_end(branch.then, ir.Location.current):
        b.yield_([make()])
    with at_end(branch.otherwise, ir.Location.current):
        b.yield_([b.number(0.0, type_)])
    return branch.results[0]


def _last_index(factor: Factor, indices: Sequence[ir.Value]) -> ir.Value | None:
    """The index of some along which the elements of a factor lie side by side."""
    for load in factor.loads:
        places = split_access(load)[1]
        form = linear_form(places[-1]) if places else None
        for index in indices:
            if form is not None and abs(form.coefficient(index)) == 1:
                return index
    return None


def along_memory(factors: Sequence[Factor], indices: Sequence[ir.Value]) -> ir.Value | None:
    """The index of some along which the elements of a factor lie side by side."""
    return next((i for f in factors if (i := _last_index(f, indices)) is not None), None)


def _is_between(index: ir.Value, extent: int) -> bool:
    """Return whether an index certainly is below an extent, and not below 0."""
    ends = range_of(linear_form(index))
    return ends is not None and ends[0] >= 0 and ends[1] < extent
