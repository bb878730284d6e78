"""The code of a block that makes a tile of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from mlirad.analysis.contractions.thread_products import ThreadProducts, thread_products
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_digits, fold, product
from mlirad.ir.gpu.blocks import barrier, block_number, thread_number, threads_in_blocks
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    clone,
    constant_integer,
    copy_with,
    is_zero,
)
from mlirad.passes.gpu.tile_block_contractions.box_points import Axis
from mlirad.passes.gpu.tile_block_contractions.panels import TRIPS, VECTOR, Panel, along_memory
from mlirad.passes.gpu.tile_block_contractions.tile_shape import TileShape, tile_shape

_TYPES = ("f32", "f64")


def make_tiles(loop: ir.Operation, least: int) -> None:
    """Put blocks that make tiles in the place of a loop, if it is a contraction and that pays."""
    products = thread_products(loop)
    if products is None or str(products.step.results[0].type) not in _TYPES:
        return
    if len(Parallel(loop).indices) - 1 in products.rows:
        products = products.swapped()
    shape = tile_shape(products, least)
    sums = _in_order(products)
    if shape is None or sum(constant_integer(bounds_of(s.op)[0].trips()) is None for s in sums) > 1:
        return
    with before(loop):
        _Tiles(products, shape, sums).make()
    loop.erase()


def _in_order(products: ThreadProducts) -> list[For]:
    """The loops of a sum as they are counted through: those of unknown length outside, innermost
    one along which memory is read."""
    last = along_memory(
        [products.left, products.right], [sum_.induction for sum_ in products.sums]
    )

    def rank(sum_: For) -> int:
        is_constant = all(constant_integer(v) is not None for v in list(sum_.op.operands)[:2])
        is_last = last is not None and sum_.induction == last
        return 1 + is_last if is_constant else 0

    return sorted(products.sums, key=rank)


class _Tiles:
    """The tiles of one contraction."""

    def __init__(self, products: ThreadProducts, shape: TileShape, sums: Sequence[For]) -> None:
        self.products, self.shape, self.loop = products, shape, products.loop
        self.rows, self.columns, self.batches = (
            self._axis(axes) for axes in (products.rows, products.columns, products.batches)
        )
        bounds = [bounds_of(sum_.op)[0] for sum_ in sums]
        self.sums = Axis([sum_.induction for sum_ in sums], bounds)
        self.left = Panel(products.left, self.rows, self.sums, shape.rows, shape.threads)
        self.right = Panel(products.right, self.columns, self.sums, shape.columns, shape.threads)
        self.type = products.step.results[0].type

    def _axis(self, axes: Sequence[int]) -> Axis:
        indices, bounds = Parallel(self.loop).indices, bounds_of(self.loop)
        return Axis([indices[axis] for axis in axes], [bounds[axis] for axis in axes])

    def make(self) -> None:
        """Make the blocks, in front of the loop."""
        shape = self.shape
        counts = [
            self.batches.extent,
            fold(Arith.CEILDIVSI, self.rows.extent, b.index(shape.rows)),
            fold(Arith.CEILDIVSI, self.columns.extent, b.index(shape.columns)),
        ]
        blocks = product(counts)
        threads = threads_in_blocks(product([blocks, b.index(shape.threads)]), shape.threads)
        with at_end(threads.body, self.loop.location):
            block = block_number()
            if constant_integer(blocks) is None:  # a launch has at least one block
                guard = b.if_else(b.compare(b.SLT, block, blocks), [], with_else=False)
                with at_end(guard.then, self.loop.location):
                    self._block(block, counts)
                    b.yield_()
            else:
                self._block(block, counts)
            b.end_parallel()

    def _block(self, block: ir.Value, counts: Sequence[ir.Value]) -> None:
        batch, row_tile, column_tile = box_digits(block, counts)
        thread, shape = thread_number(), self.shape
        point = self.batches.at(batch)
        first_row = b.mul(row_tile, b.index(shape.rows))
        first_column = b.mul(column_tile, b.index(shape.columns))
        self.left.open(point, first_row, thread)
        self.right.open(point, first_column, thread)
        width = shape.columns // shape.thread_columns
        down, across = b.div(thread, b.index(width)), b.rem(thread, b.index(width))
        rows = _vectors(down, shape.rows, shape.thread_rows)
        columns = _vectors(across, shape.columns, shape.thread_columns)
        totals = self._sum(rows, columns)
        places = _numbers(first_row, rows), _numbers(first_column, columns)
        if not self.products.is_guarded:
            self._finish(point, *places, totals)
            return
        branch = b.if_else(_is_any_nan(totals), [])
        with at_end(branch.then, self.loop.location):
            self._run_iterations(point, (first_row, rows), (first_column, columns))
            b.yield_()
        with at_end(branch.otherwise, self.loop.location):
            self._finish(point, *places, totals)
            b.yield_()

    def _sum(self, rows: Sequence[ir.Value], columns: Sequence[ir.Value]) -> list[ir.Value]:
        """Return the sums of a thread: a panel is read while the one before it is used."""
        zero, step = b.index(0), b.index(TRIPS)
        self._bring_first()
        barrier()
        initial = [b.number(0.0, self.type)] * (len(rows) * len(columns) * VECTOR * VECTOR)
        loop = b.for_loop(zero, fold(Arith.CEILDIVSI, self.sums.extent, step), b.index(1), initial)
        with at_end(loop.body, self.loop.location):
            buffer = b.andi(loop.induction, b.index(1))
            values = self._next(loop)
            totals = list(loop.carried)
            for trip in range(TRIPS):
                totals = self._multiply(totals, buffer, trip, rows, columns)
            other = b.xori(buffer, b.index(1))
            for panel, panel_values in values:
                panel.write(panel_values, other)
            barrier()
            b.yield_(totals)
        return loop.results

    def _panels(self) -> tuple[Panel, Panel]:
        return self.left, self.right

    def _bring_first(self) -> None:
        """Bring the first panels, where there are any."""
        zero = b.index(0)
        if self.sums.count is not None:
            for panel in self._panels():
                panel.write(panel.read(self.loop, zero), zero)
            return
        guard = b.if_else(self.sums.has(zero), [], with_else=False)
        with at_end(guard.then, self.loop.location):
            for panel in self._panels():
                panel.write(panel.read(self.loop, zero), zero)
            b.yield_()

    def _next(self, loop: For) -> list[tuple[Panel, list[ir.Value]]]:
        """Read what the next panels are of; the last ones again, behind them."""
        number = b.add(loop.induction, b.index(1))
        last = fold(Arith.SUBI, loop.op.operands[1], b.index(1))
        first_trip = b.mul(b.minsi(number, last), b.index(TRIPS))
        return [(panel, panel.read(self.loop, first_trip)) for panel in self._panels()]

    def _multiply(
        self,
        totals: Sequence[ir.Value],
        buffer: ir.Value,
        trip: int,
        rows: Sequence[ir.Value],
        columns: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Add the products of a trip."""
        left = self.left.vectors(buffer, trip, rows)
        right = self.right.vectors(buffer, trip, columns)
        pairs = [(x, y) for x in left for y in right]
        products = [copy_with(self.products.product, pair).result for pair in pairs]
        step = b.subf if self.products.step.name == Arith.SUBF else b.addf
        marks = _marks(self.products.step)
        return [step(total, value, **marks) for total, value in zip(totals, products)]

    def _finish(
        self,
        point: dict[ir.Value, ir.Value],
        rows: Sequence[ir.Value],
        columns: Sequence[ir.Value],
        totals: Sequence[ir.Value],
    ) -> None:
        """Do with each sum what an iteration does, where there is one."""
        width = len(columns)
        column_points = [
            self.columns.at(self.columns.clamp(column, self.shape.columns)) for column in columns
        ]

        def finish_row(number: int) -> None:
            row_point = {**point, **self.rows.at(rows[number])}
            for c, column in enumerate(columns):
                values, total = {**row_point, **column_points[c]}, totals[number * width + c]
                _where_there(
                    self.columns, column, self.shape.columns, lambda: self._iteration(values, total)
                )

        for number, row in enumerate(rows):
            _where_there(self.rows, row, self.shape.rows, lambda: finish_row(number))

    def _run_iterations(
        self,
        point: dict[ir.Value, ir.Value],
        rows: tuple[ir.Value, Sequence[ir.Value]],
        columns: tuple[ir.Value, Sequence[ir.Value]],
    ) -> None:
        """Run the iterations of a thread as the loop does: 0 times an infinite number, where it
        multiplies nothing, has made a NaN."""

        def run(row: ir.Value, column: ir.Value) -> None:
            values = {**point, **self.rows.at(row), **self.columns.at(column)}
            for op in block_operations(Parallel(self.loop).body)[:-1]:
                clone(op, values)

        def run_row(row: ir.Value) -> None:
            for_each_number(
                *columns, lambda column: _where_there(
                    self.columns, column, self.shape.columns, lambda: run(row, column)
                )
            )

        for_each_number(
            *rows, lambda row: _where_there(
                self.rows, row, self.shape.rows, lambda: run_row(row)
            )
        )

    def _iteration(self, values: dict[ir.Value, ir.Value], total: ir.Value) -> None:
        nest = self.products.nest
        for op in block_operations(Parallel(self.loop).body)[:-1]:
            if op != nest:
                clone(op, values)
                continue
            initial = values.get(nest.operands[3], nest.operands[3])
            if not is_zero(initial):
                total = b.addf(initial, total, **_marks(self.products.step))
            values[nest.results[0]] = total


def _is_any_nan(values: Sequence[ir.Value]) -> ir.Value:
    tests = [b.compare_floats(b.UNO, value, value) for value in values]
    return reduce(b.ori, tests)


def for_each_number(
    first: ir.Value, vectors: Sequence[ir.Value], run: Callable[[ir.Value], None]
) -> None:
    """Run something for the numbers of the rows of a thread, which are in vectors a distance
    apart."""
    start = b.add(first, b.mul(vectors[0], b.index(VECTOR)))
    groups = b.for_loop(b.index(0), b.index(len(vectors)), b.index(1))
    with at_end(groups.body, ir.Location.current):
        apart = b.sub(vectors[-1], vectors[0]) if len(vectors) > 1 else b.index(0)
        group = b.add(start, b.mul(groups.induction, b.mul(apart, b.index(VECTOR))))
        lanes = b.for_loop(b.index(0), b.index(VECTOR), b.index(1))
        with at_end(lanes.body, ir.Location.current):
            run(b.add(group, lanes.induction))
            b.yield_()
        b.yield_()


def _where_there(
    axis: Axis, number: ir.Value, covered: int, run: Callable[[], None]
) -> None:
    """Run something where an axis has a number."""
    if axis.fills(covered):
        run()
        return
    guard = b.if_else(axis.has(number), [], with_else=False)
    with at_end(guard.then, ir.Location.current):
        run()
        b.yield_()


def _marks(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}


def _vectors(number: ir.Value, size: int, count: int) -> list[ir.Value]:
    """Return which rows of a tile a thread has, in fours that lie side by side: those of neighbours
    are next to one another, so that they reach all banks of the block's memory."""
    stride = size // count
    return [b.add(number, b.index(group * stride)) for group in range(count // VECTOR)]


def _numbers(first: ir.Value, vectors: Sequence[ir.Value]) -> list[ir.Value]:
    """The numbers of rows of a tile."""
    starts = [b.add(first, b.mul(vector, b.index(VECTOR))) for vector in vectors]
    return [b.add(start, b.index(lane)) for start in starts for lane in range(VECTOR)]
