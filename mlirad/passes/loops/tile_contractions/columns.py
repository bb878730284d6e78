"""Tiles of columns: the lanes run along an index of the output, numbers of the left factor are
spread over them. Every element of the output is added to in the order of the loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from mlirad.analysis.contractions.contraction import Index, Term
from mlirad.analysis.contractions.places import Offset, Places, Point
from mlirad.analysis.contractions.tile_plan import Plan
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir import vectors as v
from mlirad.ir.marks.rounding import loose_mark
from mlirad.passes.loops.tile_contractions.exact_code import Ends, ExactCode
from mlirad.passes.loops.tile_contractions.row_panel import RowPanel
from mlirad.passes.loops.tile_contractions.tile_loops import (
    Part,
    carry_values,
    for_each_step,
    nest,
    split_index,
)
from mlirad.passes.loops.tile_contractions.transposed_panel import Across

Masks = Sequence[ir.Value | None]
Sums = Sequence[tuple[Index, Part]]


class Panel(NamedTuple):
    """A copy of the right factor: what trip of the sum it begins with, or of the whole sum."""

    memory: ir.Value
    first: ir.Value | None


class Columns:
    """The code of a plan of columns; `memory` is for copies of the right factor, `of_rows` for
    those of the left one."""

    def __init__(
        self, plan: Plan, memory: ir.Value | None, of_rows: ir.Value | None, *, fused: bool
    ) -> None:
        self.plan, self.memory, self.fused = plan, memory, fused
        self.nest = plan.nest
        self.vector = v.vector_of(plan.lanes, self.nest.element_type)
        self.places = Places([index.value for index in self.nest.indices])
        self.left = None if of_rows is None else RowPanel(plan, self.places, of_rows)
        self.exact = ExactCode(plan)

    def emit(self) -> None:
        """All of the nest."""
        plan, memory = self.plan, self.memory
        if memory is None:
            self._in_place()
            return
        outer = [i for i in plan.free if self._moves(i)]
        if plan.is_apart:
            nest(outer, {}, lambda point: self._copy_whole_factor(point, memory))
            return
        nest([*outer, *plan.sums], {}, lambda point: self._panels(point, memory))

    def _in_place(self) -> None:
        """All of the nest, which reads the right factor where it is."""
        plan, size = self.plan, self.plan.trips_at_once
        sums = [(index, all_of(index)) for index in plan.sums]

        def tiles(trips: Part) -> None:
            rows = Rows(self, [*sums, (plan.inner, trips)], None)
            nest(plan.free, {}, lambda point: self._columns(point, rows.emit))

        if size is None:
            tiles(all_of(plan.inner))
            return
        stretch = Part(plan.inner.lower, plan.inner.upper, size, False)

        def at(first: ir.Value) -> None:
            end = b.minsi(b.add(first, b.index(size)), stretch.upper)
            tiles(Part(first, end, 1, True))

        for_each_step(stretch, at)

    def _moves(self, index: Index) -> bool:
        return self.nest.terms[0].right.moves_with(index.value)

    def _columns(self, point: Point, run: Callable[[Point, Masks], None]) -> None:
        """Run something at the first column of each tile, with masks for its vectors."""
        column, lanes = self.plan.column, self.plan.lanes
        for stretch in split_index(column.lower, column.upper, self.plan.columns * lanes, lanes):

            def at(start: ir.Value, stretch: Part = stretch) -> None:
                masks: list[ir.Value | None] = []
                for done in range(0, stretch.size, lanes):
                    if stretch.is_whole and done + lanes <= stretch.size:
                        masks.append(None)
                    else:
                        left = b.sub(stretch.upper, b.add(start, b.index(done)))
                        masks.append(v.first_lanes(lanes, left))
                run({**point, column.value: start}, masks)

            for_each_step(stretch, at)

    def _copy_whole_factor(self, point: Point, memory: ir.Value) -> None:
        """Copy the right factor for all of the sum, and go through all rows with it."""
        sums = [(index, all_of(index)) for index in (*self.plan.sums, self.plan.inner)]
        rows = Rows(self, sums, Panel(memory, None))
        inner = [i for i in self.plan.free if not self._moves(i)]
        (term,), column = self.nest.terms, self.plan.column.value

        def at_column(column_point: Point, masks: Masks) -> None:
            def copy(at: Point) -> None:
                for k in range(len(masks)):
                    first = k * self.plan.lanes
                    lanes = range(first, first + self.plan.lanes)
                    places = [
                        self.places.indices_of(term.right, at, {column: lane}) for lane in lanes
                    ]
                    vector = v.load_apart(term.right.memref, places)
                    v.store_lanes(vector, memory, [rows.of_sum(at), b.index(first)])

            nest([index for index, _ in sums], column_point, copy)
            rows.emit_around(inner, column_point, masks)

        self._columns(point, at_column)

    def _panels(self, point: Point, memory: ir.Value) -> None:
        """Copy the right factor for some trips of the sum, and go through all rows with it."""
        index, size = self.plan.inner, self.plan.panel
        inner = [i for i in self.plan.free if not self._moves(i)]
        stretch = Part(index.lower, index.upper, size, False)

        def at(first: ir.Value) -> None:
            end = b.minsi(b.add(first, b.index(size)), index.upper)
            trips = Part(first, index.upper if stretch.is_single else end, 1, True)
            rows = Rows(self, [(index, trips)], Panel(memory, first))

            def at_column(block: Part, column_point: Point, masks: Masks) -> None:
                self._copy(column_point, masks, trips, memory)
                nest(inner, column_point, lambda at_all: rows.emit(at_all, masks, block))

            def at_block(block: Part) -> None:
                if self.left is not None:
                    self.left.copy(point, block, trips)
                self._columns(point, partial(at_column, block))

            self._blocks(at_block)

        for_each_step(stretch, at)

    def _blocks(self, run: Callable[[Part], None]) -> None:
        """Run something for each block of rows, whose part of the left factor stays in the second
        cache while all columns go by."""
        row, size = self.plan.row, self.plan.block
        stretch = Part(row.lower, row.upper, size, False)

        def at(first: ir.Value) -> None:
            end = b.minsi(b.add(first, b.index(size)), row.upper)
            run(Part(first, end, 1, True))

        if row.extent is not None and row.extent <= size:
            run(stretch)
        else:
            for_each_step(stretch, at)

    def _copy(self, point: Point, masks: Masks, trips: Part, memory: ir.Value) -> None:
        """Make the panel of a tile's columns: for every trip a row of each term."""
        terms, inner = self.nest.terms, self.plan.inner.value
        if all(term.right.is_near_to_next(self.plan.column.value) for term in terms):

            def rows(trip: ir.Value) -> None:
                first = b.mul(b.sub(trip, trips.lower), b.index(len(terms)))
                for number, term in enumerate(terms):
                    row = b.add(first, b.index(number))
                    self._copy_row(term, {**point, inner: trip}, masks, memory, row)

            for_each_step(trips, rows)
            return
        (term,) = terms
        Across(self.plan, term, self.places, memory).copy(point, masks, trips)

    def _copy_row(
        self, term: Term, point: Point, masks: Masks, memory: ir.Value, row: ir.Value
    ) -> None:
        """Copy the right factor of a term where it is within its limits; 0 elsewhere."""
        for k, mask in enumerate(masks):
            start = k * self.plan.lanes
            place = self.places.indices_of(term.right, point, {self.plan.column.value: start})
            within = self._within(term, point, start, mask)
            steps = term.right.steps(self.plan.column.value)
            vector = v.load_steps(term.right.memref, place, steps or 1, self.vector, within)
            v.store_lanes(vector, memory, [row, b.index(start)])

    def _within(
        self, term: Term, point: Point, start: int, mask: ir.Value | None
    ) -> ir.Value | None:
        """Return a mask of a vector of a term: on if it is within its limits."""
        lanes, column = self.plan.lanes, self.plan.column.value
        for index, limits in term.limits.items():
            at = point[index] if index != column else b.add(point[index], b.index(start))
            for form in limits.upper:
                left = b.sub(self.places.sum(form, {}, {}), at)
                mask = self._and_mask(mask, v.first_lanes(lanes, self._active_lanes(left, index)))
            for form in limits.lower:
                if index == column:
                    ahead = b.sub(self.places.sum(form, {}, {}), at)
                    mask = self._and_mask(mask, v.invert_mask(v.first_lanes(lanes, ahead)))
                else:
                    beyond = b.sub(b.add(at, b.index(1)), self.places.sum(form, {}, {}))
                    mask = self._and_mask(
                        mask, v.first_lanes(lanes, self._active_lanes(beyond, index))
                    )
        return mask

    def _active_lanes(self, left: ir.Value, index: ir.Value) -> ir.Value:
        """Return the number of lanes that are on: all or none for an index that is the same for all
        of them."""
        if index == self.plan.column.value:
            return left
        return b.mul(left, b.index(self.plan.lanes))

    def _and_mask(self, mask: ir.Value | None, other: ir.Value) -> ir.Value:
        return other if mask is None else b.all_of([mask, other])


class Rows:
    """The tiles of some columns, one below the other.

    Tiles also multiply where a guard or a limit says that nothing is added. They add 0 or a NaN
    there, or, where a witness is a NaN, any number that is not finite. A tile with such a sum is
    computed again by code with guards and limits.
    """

    def __init__(self, code: Columns, sums: Sums, panel: Panel | None) -> None:
        self.code, self.sums, self.panel = code, sums, panel
        self.plan, self.nest, self.places = code.plan, code.nest, code.places
        self.block: Part | None = None  # of which the tile may read copies of the left factor

    def emit(self, point: Point, masks: Masks, block: Part | None = None) -> None:
        """All rows, or those of a block."""
        rows = self.plan.row if block is None else block
        for stretch in split_index(rows.lower, rows.upper, self.plan.rows, 1):
            self.block = block if stretch.size == self.plan.rows else None
            for_each_step(stretch, partial(self._tile, point, stretch.size, masks))

    def emit_around(self, inner: Sequence[Index], point: Point, masks: Masks) -> None:
        """All rows, and inside of each tile's other indices: what a tile reads of the left factor
        stays in the first cache."""
        rows, row = self.plan.row, self.plan.row.value
        for stretch in split_index(rows.lower, rows.upper, self.plan.rows, 1):

            def at(first: ir.Value, size: int = stretch.size) -> None:
                nest(
                    inner,
                    {**point, row: first},
                    lambda inner_point: self._tile(inner_point, size, masks, first),
                )

            for_each_step(stretch, at)

    def _tile(self, point: Point, rows: int, masks: Masks, first: ir.Value) -> None:
        output, row, column = self.nest.output, self.plan.row.value, self.plan.column.value
        point = {**point, row: first}
        offsets = [
            ({row: r, column: k * self.plan.lanes}, mask)
            for r in range(rows)
            for k, mask in enumerate(masks)
        ]
        vector = self.code.vector
        if self.plan.is_apart:
            self._tile_apart(point, [offset for offset, _ in offsets], masks)
            return
        places = [(self.places.indices_of(output, point, offset), mask) for offset, mask in offsets]
        totals = [v.load_lanes(output.memref, place, vector, mask) for place, mask in places]
        totals = self._sum_loops(list(self.sums), point, totals, masks)

        def store() -> None:
            for total, (place, mask) in zip(totals, places):
                v.store_lanes(total, output.memref, place, mask)

        if not self.plan.multiplies_more:
            store()
            return
        branch = b.if_else(v.any_lane(self._are_doubtful(totals)), [])
        with ir.InsertionPoint(branch.then):
            self.code.exact.call(self._ends(point, rows, len(masks)))
            b.yield_()
        with ir.InsertionPoint(branch.otherwise):
            store()
            b.yield_()

    def _are_doubtful(self, totals: Sequence[ir.Value]) -> ir.Value:
        """Return in which lanes a sum may be another one with guards and limits."""
        if any(term.witness is not None for term in self.nest.terms):
            totals = [b.subf(total, total) for total in totals]  # a NaN unless it is finite
        return b.is_nan_anywhere(totals)

    def _ends(self, point: Point, rows: int, vectors: int) -> Ends:
        """Return where the indices of a tile begin and end."""
        row, column = self.plan.row.value, self.plan.column
        ends = {index: (at, b.add(at, b.index(1))) for index, at in point.items()}
        ends.update((index.value, (trips.lower, trips.upper)) for index, trips in self.sums)
        ends[row] = (point[row], b.add(point[row], b.index(rows)))
        first = point[column.value]
        last = b.add(first, b.index(vectors * self.plan.lanes))
        ends[column.value] = (first, b.minsi(last, column.upper))
        return ends

    def _tile_apart(self, point: Point, offsets: Sequence[Offset], masks: Masks) -> None:
        """A tile whose vectors are made of elements that lie apart."""
        output, column = self.nest.output, self.plan.column.value
        places = [
            [
                self.places.indices_of(output, point, {**offset, column: offset[column] + lane})
                for lane in range(self.plan.lanes)
            ]
            for offset in offsets
        ]
        totals = [v.load_apart(output.memref, place) for place in places]
        for total, place in zip(self._sum_loops(list(self.sums), point, totals, masks), places):
            v.store_apart(total, output.memref, place)

    def of_sum(self, point: Point) -> ir.Value:
        """The number of a point of the whole sum."""
        row = b.index(0)
        for index, _ in self.sums:
            assert index.extent is not None
            row = b.add(b.mul(row, b.index(index.extent)), b.sub(point[index.value], index.lower))
        return row

    def _sum_loops(
        self, sums: Sums, point: Point, totals: Sequence[ir.Value], masks: Masks
    ) -> list[ir.Value]:
        if not sums:
            return self._products(point, totals, masks)
        (index, trips), *inner_sums = sums
        return carry_values(
            trips,
            totals,
            lambda trip, now: self._sum_loops(inner_sums, {**point, index.value: trip}, now, masks),
        )

    def _products(self, point: Point, totals: Sequence[ir.Value], masks: Masks) -> list[ir.Value]:
        for number, term in enumerate(self.nest.terms):
            totals = self._add_products(number, term, point, totals, masks)
        return list(totals)

    def _add_products(
        self, number: int, term: Term, point: Point, totals: Sequence[ir.Value], masks: Masks
    ) -> list[ir.Value]:
        vectors = [self._right(number, point, k, mask) for k, mask in enumerate(masks)]
        results = []
        for position, total in enumerate(totals):
            r, k = divmod(position, len(masks))
            if k == 0:
                factor = self._left_element(term, point, r)
                if term.is_negative:
                    factor = b.negf(factor, **loose_mark())
                spread = v.spread(factor, self.code.vector)
            result = v.multiply_add(spread, vectors[k], total, fused=self.code.fused)
            results.append(result)
        return results

    def _left_element(self, term: Term, point: Point, row: int) -> ir.Value:
        copies = self.code.left
        if copies is not None and self.block is not None:
            return copies.read(point, self.block, self.sums[0][1], row)
        place = self.places.indices_of(term.left, point, {self.plan.row.value: row})
        return b.read(term.left.memref, place)

    def _right(self, term: int, point: Point, k: int, mask: ir.Value | None) -> ir.Value:
        start = k * self.plan.lanes
        if self.panel is not None and self.panel.first is None:
            place = [self.of_sum(point), b.index(start)]
            return v.load_lanes(self.panel.memory, place, self.code.vector)
        if self.panel is not None:
            assert self.panel.first is not None
            trip = b.sub(point[self.plan.inner.value], self.panel.first)
            terms = len(self.nest.terms)
            row = b.add(b.mul(trip, b.index(terms)), b.index(term)) if terms > 1 else trip
            place = [row, b.index(start)]
            return v.load_lanes(self.panel.memory, place, self.code.vector)
        right = self.nest.terms[term].right
        place = self.places.indices_of(right, point, {self.plan.column.value: start})
        return v.load_lanes(right.memref, place, self.code.vector, mask)


def all_of(index: Index) -> Part:
    """Every value of an index."""
    return Part(index.lower, index.upper, 1, True)
