"""The code of a block that makes the sums of several iterations a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.gpu.blocks import barrier, block_number, blocks_of_threads, thread_number
from mlirad.ir.gpu.box_points import Axis, Point, Values
from mlirad.ir.gpu.partial_sums import PartialSums
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import at_end, block_operations, clone, is_defined_in, operations

_SIZE = 128  # threads of a block, and elements of each array that it brings at once
_WIDTH = 4  # elements that are read at once
Value = TypeVar("Value")


class Cut(NamedTuple):
    """Iterations of a thread, and shares of a sum."""

    rows: int
    shares: int


class PairCode:
    """The sums of one loop."""

    THREADS = _SIZE

    def __init__(
        self,
        loop: ir.Operation,
        nest: For,
        shared: Sequence[ir.Operation],
        cut: Cut,
        sums: PartialSums,
    ) -> None:
        self.loop, self.nest, self.cut, self.sums = loop, nest, cut, sums
        self.groups = list(_groups(shared))
        self.rows = Axis(Parallel(loop).indices, bounds_of(loop))
        self.trips = Axis([nest.induction], bounds_of(nest.op))

    def emit(self) -> None:
        """Make the blocks, in front of the loop."""
        rows, length = self.rows.count, self.trips.count
        assert rows is not None and length is not None
        tiles = -(-length // (_SIZE * self.cut.shares))  # of a share
        blocks = -(-rows // (_SIZE * self.cut.rows)) * self.cut.shares
        threads = blocks_of_threads(b.index(blocks * _SIZE), _SIZE)
        with at_end(threads.body, self.loop.location):
            block, thread = block_number(), thread_number()
            shares = b.index(self.cut.shares)
            share = b.rem(block, shares)
            first = b.add(b.mul(b.div(block, shares), b.index(_SIZE * self.cut.rows)), thread)
            numbers = [b.add(first, b.index(row * _SIZE)) for row in range(self.cut.rows)]
            points = [
                Point(self.loop, self.rows.at(self.rows.clamp(n, _SIZE * self.cut.rows)))
                for n in numbers
            ]
            totals = self._sum(b.mul(share, b.index(tiles * _SIZE)), tiles, points, thread)
            for number, point, sums in zip(numbers, points, totals):
                self._leave(number, point.values, sums, share)
            b.end_parallel()

    def _leave(
        self, number: ir.Value, values: Values, totals: Sequence[ir.Value], share: ir.Value
    ) -> None:
        if self.rows.fills(_SIZE * self.cut.rows):
            self.sums.store(values, totals, share)
            return
        branch = b.if_else(self.rows.has(number), [], with_else=False)
        with at_end(branch.then, ir.Location.current):
            self.sums.store(values, totals, share)
            b.yield_()

    def _sum(
        self, first: ir.Value, tiles: int, points: Sequence[Point], thread: ir.Value
    ) -> list[Sequence[ir.Value]]:
        """The sums of the iterations of a thread, over some tiles of elements."""
        arrays = [field.shared(group.type) for group in self.groups]
        self._write(self._read(b.add(first, thread)), arrays, b.index(0), thread)
        barrier()
        for point in points:
            self._compute_in_front(point)
        zeros = [b.number(0.0, result.type) for result in self.nest.results]
        loop = b.for_loop(b.index(0), b.index(tiles), b.index(1), zeros * len(points))
        with at_end(loop.body, self.loop.location):
            buffer = b.andi(loop.induction, b.index(1))
            start = b.add(first, b.mul(loop.induction, b.index(_SIZE)))
            values = self._read(b.add(b.add(start, b.index(_SIZE)), thread))
            totals = self._tile(start, loop.carried, arrays, buffer, points)
            self._write(values, arrays, b.xori(buffer, b.index(1)), thread)
            barrier()
            b.yield_(totals)
        return list(_chunks(loop.results, len(zeros)))

    def _compute_in_front(self, point: Point) -> None:
        """Compute what the serial loop uses of an iteration."""
        for op in operations(self.nest.op):
            for value in op.operands:
                if not is_defined_in(value, self.nest.op):
                    point.value(value)

    def _read(self, number: ir.Value) -> list[list[ir.Value]]:
        """The elements of a trip, or of the last one, from memory."""
        last = b.index((self.trips.count or 1) - 1)
        indices = self.trips.at(b.minsi(number, last))
        values = []
        for group in self.groups:
            point = Point(self.loop, indices)
            values.append([point.value(load.results[0]) for load in group.loads])
        return values

    def _write(
        self,
        values: Sequence[Sequence[ir.Value]],
        arrays: Sequence[ir.Value],
        buffer: ir.Value,
        thread: ir.Value,
    ) -> None:
        for array, group_values in zip(arrays, values):
            for lane, value in enumerate(group_values):
                field.store(value, array, [buffer, thread, b.index(lane)])

    def _tile(
        self,
        start: ir.Value,
        totals: Sequence[ir.Value],
        arrays: Sequence[ir.Value],
        buffer: ir.Value,
        points: Sequence[Point],
    ) -> Sequence[ir.Value]:
        """Add the terms of a tile, of as many trips as are there."""
        end = b.index(_SIZE)
        if not self.trips.fills(_SIZE * self.cut.shares):
            end = b.maxsi(b.minsi(end, b.sub(self.trips.extent, start)), b.index(0))
        loop = b.for_loop(b.index(0), end, b.index(1), totals)
        with at_end(loop.body, self.loop.location):
            inner = self.trips.at(b.add(start, loop.induction))
            for array, group in zip(arrays, self.groups):
                for lane, load in enumerate(group.loads):
                    place = [buffer, loop.induction, b.index(lane)]
                    inner[load.results[0]] = field.load(array, place)
            results: list[ir.Value] = []
            for point, sums in zip(points, _chunks(loop.carried, len(self.nest.results))):
                results += self._term(point, inner, sums)
            b.yield_(results)
        return loop.results

    def _term(self, point: Point, inner: Values, totals: Sequence[ir.Value]) -> list[ir.Value]:
        """Add the terms of one trip of one iteration."""
        values: Values = {**point.values, **inner}
        values.update(zip(self.nest.carried, totals))
        *ops, end = block_operations(self.nest.body)
        for op in ops:
            if not len(op.results) or op.results[0] not in inner:
                clone(op, values)
        return [values.get(value, value) for value in end.operands]


class _Group(NamedTuple):
    """Loads of elements of one type, which a thread of a block reads at once."""

    loads: list[ir.Operation]

    @property
    def type(self) -> ir.Type:
        """The array in the block's memory."""
        lanes = 1 << (len(self.loads) - 1).bit_length()
        return array_type(self.loads[0].results[0].type, [2, _SIZE, lanes])


def _groups(loads: Sequence[ir.Operation]) -> Iterator[_Group]:
    """Yield loads by the types of their elements, few at once."""
    for type_ in dict.fromkeys(load.results[0].type for load in loads):
        same = [load for load in loads if load.results[0].type == type_]
        for chunk in _chunks(same, _WIDTH):
            yield _Group(list(chunk))


def _chunks(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    return (values[start : start + size] for start in range(0, len(values), size))
