"""Copies of a left factor whose rows lie side by side, and its trips of the sum far apart: each
tile reads its own part from beginning to end, where the rows of the factor would meet in few sets
of a cache."""

from __future__ import annotations

from mlirad.analysis.contractions.places import Places, Point
from mlirad.analysis.contractions.tile_plan import Plan
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir import vectors as v
from mlirad.passes.loops.tile_contractions.tile_loops import Part, for_each_step, split_index


class RowPanel:
    """The copy for a block of rows and some trips of the sum: the numbers of a tile's rows for one
    trip after the other."""

    def __init__(self, plan: Plan, places: Places, memory: ir.Value) -> None:
        self.plan, self.places, self.memory = plan, places, memory
        self.left = plan.nest.terms[0].left
        self.vector = v.vector_of(plan.rows, plan.nest.element_type)

    def copy(self, point: Point, block: Part, trips: Part) -> None:
        """Fill the copy, but for rows that are too few for a tile."""
        row, inner, rows = self.plan.row.value, self.plan.inner.value, self.plan.rows

        def copy(first: ir.Value, trip: ir.Value) -> None:
            place = self.places.indices_of(self.left, {**point, row: first, inner: trip}, {})
            numbers = v.load_lanes(self.left.memref, place, self.vector)
            v.store_lanes(numbers, self.memory, [self._place(block, first, trips, trip)])

        def tiles(trip: ir.Value) -> None:
            for stretch in split_index(block.lower, block.upper, rows, 1):
                if stretch.is_whole and stretch.size == rows:
                    for_each_step(stretch, lambda first: copy(first, trip))

        for_each_step(trips, tiles)

    def read(self, point: Point, block: Part, trips: Part, row: int) -> ir.Value:
        """The number of a row of the tile that begins at a point."""
        first, trip = point[self.plan.row.value], point[self.plan.inner.value]
        place = b.add(self._place(block, first, trips, trip), b.index(row))
        return b.read(self.memory, [place])

    def _place(self, block: Part, first: ir.Value, trips: Part, trip: ir.Value) -> ir.Value:
        above = b.mul(b.sub(first, block.lower), b.index(self.plan.panel))
        earlier = b.mul(b.sub(trip, trips.lower), b.index(self.plan.rows))
        return b.add(above, earlier)
