"""Tiles of dot products: the lanes run along a summed index, and are added up behind the loops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from mlirad.analysis.contractions.contraction import Index
from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.contractions.tile_plan import Plan
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir import vectors as v
from mlirad.ir.marks.rounding import loose_mark
from mlirad.passes.loops.tile_contractions.tile_loops import (
    Part,
    carry_values,
    for_each_step,
    nest,
    split_index,
)


class Dots:
    """The code of a plan of dot products."""

    def __init__(self, plan: Plan, *, fused: bool) -> None:
        self.plan, self.nest, self.fused = plan, plan.nest, fused
        (self.term,) = plan.nest.terms
        self.vector = v.vector_of(plan.lanes, self.nest.element_type)
        self.places = Places([index.value for index in self.nest.indices])

    def emit(self) -> None:
        """All of the nest."""
        nest([*self.plan.outer_sums, *self.plan.free], {}, self._rows)

    def _rows(self, point: Point) -> None:
        row = self.plan.row
        for stretch in split_index(row.lower, row.upper, self.plan.rows, 1):
            for_each_step(stretch, partial(self._row, point, stretch.size))

    def _row(self, point: Point, rows: int, row: ir.Value) -> None:
        column, point = self.plan.column, {**point, self.plan.row.value: row}
        for stretch in split_index(column.lower, column.upper, self.plan.columns, 1):
            for_each_step(stretch, partial(self._tile, point, (rows, stretch.size)))

    def _tile(self, point: Point, shape: tuple[int, int], column: ir.Value) -> None:
        point = {**point, self.plan.column.value: column}
        rows, columns = shape
        zeros = [b.number(0.0, self.vector)] * (rows * columns)
        outer = len(self.plan.outer_sums)
        totals = self._sum_loops(self.plan.sums[outer:], point, zeros, shape)
        output = self.nest.output
        for position, lanes in enumerate(totals):
            r, c = divmod(position, columns)
            offset = {self.plan.row.value: r, self.plan.column.value: c}
            place = self.places.indices_of(output, point, offset)
            old, new = b.read(output.memref, place), v.sum_of_lanes(lanes)
            total = (b.subf if self.term.is_negative else b.addf)(old, new, **loose_mark())
            b.write(total, output.memref, place)

    def _sum_loops(
        self,
        sums: Sequence[Index],
        point: Point,
        totals: Sequence[ir.Value],
        shape: tuple[int, int],
    ) -> list[ir.Value]:
        if not sums:
            return self._lanes(point, totals, shape)
        index, *inner_sums = sums
        trips = Part(index.lower, index.upper, 1, True)
        return carry_values(
            trips,
            totals,
            lambda trip, now: self._sum_loops(inner_sums, {**point, index.value: trip}, now, shape),
        )

    def _lanes(
        self, point: Point, totals: Sequence[ir.Value], shape: tuple[int, int]
    ) -> list[ir.Value]:
        inner, lanes = self.plan.inner, self.plan.lanes
        for stretch in split_index(inner.lower, inner.upper, lanes, lanes):
            is_full = stretch.is_whole and stretch.size == lanes

            def at(
                trip: ir.Value,
                now: Sequence[ir.Value],
                stretch: Part = stretch,
                full: bool = is_full,
            ) -> list[ir.Value]:
                mask = None if full else v.first_lanes(lanes, b.sub(stretch.upper, trip))
                return self._products({**point, inner.value: trip}, now, shape, mask)

            totals = carry_values(stretch, totals, at)
        return list(totals)

    def _products(
        self,
        point: Point,
        totals: Sequence[ir.Value],
        shape: tuple[int, int],
        mask: ir.Value | None,
    ) -> list[ir.Value]:
        rows, columns = shape
        lefts, rights = (
            [
                v.load_steps(
                    element.memref,
                    self.places.indices_of(element, point, {index.value: k}),
                    element.steps(self.plan.inner.value) or 1,
                    self.vector,
                    mask,
                )
                for k in range(count)
            ]
            for element, index, count in (
                (self.term.left, self.plan.row, rows),
                (self.term.right, self.plan.column, columns),
            )
        )
        return [
            v.multiply_add(lefts[k // columns], rights[k % columns], total, fused=self.fused)
            for k, total in enumerate(totals)
        ]
