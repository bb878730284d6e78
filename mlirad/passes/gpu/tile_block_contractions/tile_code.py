"""The code of a block that makes a tile of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

from mlirad.analysis.contractions.thread_products import ThreadProducts
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_digits, fold, product
from mlirad.ir.gpu.blocks import (
    barrier,
    block_number,
    blocks_of_threads,
    thread_number,
)
from mlirad.ir.gpu.box_points import Axis, Values
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import at_end, attributes_of, constant_integer, copy_with
from mlirad.passes.gpu.tile_block_contractions.panels import VECTOR, Panel
from mlirad.passes.gpu.tile_block_contractions.tile_shape import Cut


class Use(Protocol):
    """The use of the sums."""

    is_checked: bool  # whether those that are no number are made anew

    def finish(self, values: Values, total: ir.Value, number: ir.Value, /) -> None:
        """Do something with the sum of a point."""

    def run(self, values: Values, /) -> None:
        """Make the sum of a point, and do the same with it."""


class Lines(NamedTuple):
    """The rows, or the columns, of a thread: vectors that lie a distance apart."""

    axis: Axis
    size: int  # of a tile
    first: ir.Value  # of the tile
    vectors: list[ir.Value]

    def numbers(self) -> list[ir.Value]:
        """Return which they are."""
        starts = [b.add(self.first, b.mul(vector, b.index(VECTOR))) for vector in self.vectors]
        return [b.add(start, b.index(lane)) for start in starts for lane in range(VECTOR)]

    def where_there(self, number: ir.Value, run: Callable[[], None]) -> None:
        """Run something where there is a line of a number."""
        if self.axis.fills(self.size):
            run()
        else:
            where(self.axis.has(number), run)

    def for_each(self, run: Callable[[ir.Value], None]) -> None:
        """Run something for the number of each, by a loop."""
        first, last = self.vectors[0], self.vectors[-1]
        groups = b.for_loop(b.index(0), b.index(len(self.vectors)), b.index(1))
        with at_end(groups.body, ir.Location.current):
            vector = b.add(first, b.mul(groups.induction, b.sub(last, first)))
            start = b.add(self.first, b.mul(vector, b.index(VECTOR)))
            lanes = b.for_loop(b.index(0), b.index(VECTOR), b.index(1))
            with at_end(lanes.body, ir.Location.current):
                number = b.add(start, lanes.induction)
                self.where_there(number, lambda: run(number))
                b.yield_()
            b.yield_()


class TileCode:
    """The tiles of one contraction."""

    def __init__(self, products: ThreadProducts, cut: Cut, sums: Sequence[For], use: Use) -> None:
        self.products, self.use, self.loop = products, use, products.loop
        self.shape, self.shares = cut
        self.rows, self.columns, self.batches = (
            self._axis(axes) for axes in (products.rows, products.columns, products.batches)
        )
        bounds = [bounds_of(sum_.op)[0] for sum_ in sums]
        self.sums = Axis([sum_.induction for sum_ in sums], bounds)
        shape = self.shape
        sizes = shape.trips, shape.threads
        self.panels = (
            Panel(products.left, self.rows, self.sums, shape.rows, *sizes),
            Panel(products.right, self.columns, self.sums, shape.columns, *sizes),
        )

    def _axis(self, axes: Sequence[int]) -> Axis:
        indices, bounds = Parallel(self.loop).indices, bounds_of(self.loop)
        return Axis([indices[axis] for axis in axes], [bounds[axis] for axis in axes])

    def emit(self) -> None:
        """Make the blocks, in front of the loop."""
        shape = self.shape
        counts = [
            b.index(self.shares),
            self.batches.extent,
            fold(Arith.CEILDIVSI, self.rows.extent, b.index(shape.rows)),
            fold(Arith.CEILDIVSI, self.columns.extent, b.index(shape.columns)),
        ]
        blocks, size = product(counts), shape.threads
        threads = blocks_of_threads(product([blocks, b.index(size)]), size)
        with at_end(threads.body, self.loop.location):
            block = block_number()
            if constant_integer(blocks) is None:  # a launch has at least one block
                where(b.compare(b.SLT, block, blocks), lambda: self._block(block, counts))
            else:
                self._block(block, counts)
            b.end_parallel()

    def _block(self, block: ir.Value, counts: Sequence[ir.Value]) -> None:
        share, batch, row_tile, column_tile = box_digits(block, counts)
        thread, shape = thread_number(), self.shape
        point = self.batches.at(batch)
        width = b.index(shape.columns // shape.thread_columns)
        rows = Lines(
            self.rows,
            shape.rows,
            b.mul(row_tile, b.index(shape.rows)),
            _vectors(b.div(thread, width), shape.rows, shape.thread_rows),
        )
        columns = Lines(
            self.columns,
            shape.columns,
            b.mul(column_tile, b.index(shape.columns)),
            _vectors(b.rem(thread, width), shape.columns, shape.thread_columns),
        )
        for panel, lines in zip(self.panels, (rows, columns)):
            panel.open(point, lines.first, thread)
        totals = self._sum(share, rows, columns)
        if not self.use.is_checked:
            self._finish(point, rows, columns, totals, share)
            return
        # 0 times an infinite number, where the loop multiplies nothing
        branch = b.if_else(b.is_nan_anywhere(totals), [])
        with at_end(branch.then, self.loop.location):
            self._run(point, rows, columns)
            b.yield_()
        with at_end(branch.otherwise, self.loop.location):
            self._finish(point, rows, columns, totals, share)
            b.yield_()

    def _sum(self, share: ir.Value, rows: Lines, columns: Lines) -> Sequence[ir.Value]:
        """Return the sums of a thread: a panel is read while the one before it is used."""
        first, count = self._panels_of(share)
        self._bring_first(first)
        barrier()
        zero = b.number(0.0, self.products.step.results[0].type)
        initial = [zero] * (self.shape.thread_rows * self.shape.thread_columns)
        loop = b.for_loop(b.index(0), count, b.index(1), initial)
        with at_end(loop.body, self.loop.location):
            buffer = b.andi(loop.induction, b.index(1))
            values = self._next(loop, first)
            totals: Sequence[ir.Value] = loop.carried
            for trip in range(self.shape.trips):
                left = self.panels[0].vectors(buffer, trip, rows.vectors)
                right = self.panels[1].vectors(buffer, trip, columns.vectors)
                totals = self._multiply(totals, left, right)
            other = b.xori(buffer, b.index(1))
            for panel, panel_values in zip(self.panels, values):
                panel.write(panel_values, other)
            barrier()
            b.yield_(totals)
        return loop.results

    def _panels_of(self, share: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The first panel of a share, and how many there are."""
        count = fold(Arith.CEILDIVSI, self.sums.extent, b.index(self.shape.trips))
        panels = constant_integer(count)
        if self.shares == 1 or panels is None:
            return b.index(0), count
        length = -(-panels // self.shares)
        first = b.mul(share, b.index(length))
        if length * self.shares == panels:
            return first, b.index(length)
        return first, b.maxsi(b.minsi(b.sub(count, first), b.index(length)), b.index(0))

    def _bring_first(self, first: ir.Value) -> None:
        """Bring the first panels, where there are any."""

        def bring() -> None:
            for panel in self.panels:
                panel.write(
                    panel.read(self.loop, b.mul(first, b.index(self.shape.trips))), b.index(0)
                )

        if self.sums.count:
            bring()
        else:
            where(self.sums.has(b.index(0)), bring)

    def _next(self, loop: For, first: ir.Value) -> list[list[ir.Value]]:
        """Read what the next panels are of; the last ones again, behind them."""
        number = b.add(loop.induction, b.index(1))
        last = fold(Arith.SUBI, loop.op.operands[1], b.index(1))
        trip = b.mul(b.add(first, b.minsi(number, last)), b.index(self.shape.trips))
        return [panel.read(self.loop, trip) for panel in self.panels]

    def _multiply(
        self, totals: Sequence[ir.Value], left: Sequence[ir.Value], right: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Add the products of a trip."""
        values = [copy_with(self.products.product, (x, y)).result for x in left for y in right]
        add = b.subf if self.products.is_negative else b.addf
        marks = attributes_of(self.products.step)
        return [add(total, value, **marks) for total, value in zip(totals, values)]

    def _finish(
        self,
        point: Values,
        rows: Lines,
        columns: Lines,
        totals: Sequence[ir.Value],
        share: ir.Value,
    ) -> None:
        """Use each sum of a thread."""
        numbers = columns.numbers()
        points = [self.columns.at(self.columns.clamp(n, self.shape.columns)) for n in numbers]

        def finish(row: Values, column: Values, total: ir.Value) -> None:
            self.use.finish({**point, **row, **column}, total, share)

        def finish_row(number: ir.Value, row_totals: Sequence[ir.Value]) -> None:
            row = self.rows.at(number)
            for column_number, column, total in zip(numbers, points, row_totals):
                columns.where_there(column_number, partial(finish, row, column, total))

        width = len(numbers)
        for position, number in enumerate(rows.numbers()):
            row_totals = totals[position * width : (position + 1) * width]
            rows.where_there(number, partial(finish_row, number, row_totals))

    def _run(self, point: Values, rows: Lines, columns: Lines) -> None:
        """Have all sums of a thread made anew."""

        def run(row: ir.Value, column: ir.Value) -> None:
            self.use.run({**point, **self.rows.at(row), **self.columns.at(column)})

        rows.for_each(lambda row: columns.for_each(lambda column: run(row, column)))


def where(condition: ir.Value, run: Callable[[], None]) -> None:
    """Run something where a condition holds."""
    branch = b.if_else(condition, [], with_else=False)
    with at_end(branch.then, ir.Location.current):
        run()
        b.yield_()


def _vectors(number: ir.Value, size: int, count: int) -> list[ir.Value]:
    """Return which rows of a tile a thread has, in fours that lie side by side: those of neighbors
    are next to one another, so that they reach all banks of the block's memory."""
    stride = size // count
    return [b.add(number, b.index(group * stride)) for group in range(count // VECTOR)]
