"""Copies of a right factor whose columns lie apart: squares of numbers that lie side by side along
the sum are read in vectors and transposed in registers, what is left over one by one."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.contractions.contraction import Term
from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.contractions.tile_plan import Plan
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir import vectors as v
from mlirad.passes.loops.tile_contractions.tile_loops import Part, for_each_step, split_index


class Across:
    """Copies for one tile's columns; rows of the copy are trips of the sum."""

    def __init__(self, plan: Plan, term: Term, places: Places, memory: ir.Value) -> None:
        self.plan, self.term, self.places, self.memory = plan, term, places, memory
        self.lanes = plan.lanes
        self.vector = v.vector_of(plan.lanes, plan.nest.element_type)

    def copy(self, point: Point, masks: Sequence[ir.Value | None], trips: Part) -> None:
        """Fill the copy: with 0 in columns that are masked off, because tiles multiply these too,
        and what memory holds by chance may be NaN, or so small that products take 100 times as
        long."""
        first = point[self.plan.column.value]
        is_square = self.term.right.is_next_to_next(self.plan.inner.value)
        squares = sum(mask is None for mask in masks) * is_square
        if squares:  # one code for all, which takes long to compile
            columns = Part(b.index(0), b.index(squares * self.lanes), self.lanes, True)
            for_each_step(columns, lambda start: self._squares(point, start, trips))
        for k, mask in enumerate(masks):
            if mask is not None:
                self._clear(k * self.lanes, trips)
        if squares < len(masks):
            begin = b.add(first, b.index(squares * self.lanes))
            end = b.add(first, b.index(len(masks) * self.lanes))
            last = b.minsi(end, self.plan.column.upper)
            self._numbers(point, Part(begin, last, 1, True), trips, trips.lower)

    def _clear(self, start: int, trips: Part) -> None:
        zero = v.spread(b.number(0.0, self.plan.nest.element_type), self.vector)

        def clear(trip: ir.Value) -> None:
            v.store_lanes(zero, self.memory, [b.sub(trip, trips.lower), b.index(start)])

        for_each_step(trips, clear)

    def _squares(self, point: Point, start: ir.Value, trips: Part) -> None:
        """Copy as many columns as there are lanes, from one on."""
        begin = b.add(point[self.plan.column.value], start)
        columns = Part(begin, b.add(begin, b.index(self.lanes)), 1, True)
        at = {**point, self.plan.column.value: begin}
        for stretch in split_index(trips.lower, trips.upper, self.lanes, 1):
            if stretch.is_whole and stretch.size == self.lanes:
                for_each_step(stretch, lambda trip: self._square(at, start, trip, trips.lower))
            else:
                remaining_stretch = Part(stretch.lower, stretch.upper, 1, True)
                self._numbers(point, columns, remaining_stretch, trips.lower)

    def _square(self, point: Point, start: ir.Value, trip: ir.Value, lower: ir.Value) -> None:
        """Copy as many trips of these."""
        right, column = self.term.right, self.plan.column.value
        at = {**point, self.plan.inner.value: trip}
        places = [self.places.indices_of(right, at, {column: k}) for k in range(self.lanes)]
        read = [v.load_lanes(right.memref, place, self.vector) for place in places]
        for number, vector in enumerate(v.transpose_rows(read)):
            row = b.add(b.sub(trip, lower), b.index(number))
            v.store_lanes(vector, self.memory, [row, start])

    def _numbers(self, point: Point, columns: Part, trips: Part, lower: ir.Value) -> None:
        """Copy some columns number by number."""
        right, column = self.term.right, self.plan.column.value
        first = point[column]

        def number(at_column: ir.Value, trip: ir.Value) -> None:
            at = {**point, column: at_column, self.plan.inner.value: trip}
            value = b.read(right.memref, self.places.indices_of(right, at, {}))
            b.write(value, self.memory, [b.sub(trip, lower), b.sub(at_column, first)])

        for_each_step(columns, lambda c: for_each_step(trips, lambda trip: number(c, trip)))
