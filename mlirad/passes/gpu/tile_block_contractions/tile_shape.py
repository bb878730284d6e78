"""How large tiles are: the one place where that is decided."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from mlirad.analysis.contractions.thread_products import ThreadProducts
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import is_access
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import block_operations, operations

_PROCESSORS = 128  # about as many as a large GPU has
_UNKNOWN = 512  # values of an index of which nothing is known
_LEAST = 16  # rows, columns, and trips of the sum that pay
_MOST_COPIED = 2048  # operations of what is done with the sums of a thread
_LEAST_USED = 0.3  # of the points of the tiles


class TileShape(NamedTuple):
    """The sums of a block, and of each of its threads; what part of the instructions that it issues
    multiply, by a count of those of sm_90."""

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    share: float

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)


_SHAPES = (
    TileShape(128, 128, 8, 8, 0.88),
    TileShape(128, 64, 8, 8, 0.85),
    TileShape(64, 128, 8, 8, 0.85),
    TileShape(64, 64, 8, 4, 0.75),
    TileShape(32, 32, 4, 4, 0.6),
)


def tile_shape(products: ThreadProducts, least: int) -> TileShape | None:
    """The tiles that take the least time; None where none are worth it."""
    trips = spans(products.loop)
    rows, columns, batches = (
        prod(_UNKNOWN if trips[axis].trips is None else trips[axis].trips or 0 for axis in axes)
        for axes in (products.rows, products.columns, products.batches)
    )
    length = sum_length(products)
    length = _UNKNOWN if length is None else length
    if not products.rows or not products.columns or min(rows, columns, length) < _LEAST:
        return None
    if rows * columns * batches * length < least:
        return None
    width = ir.FloatType(products.step.results[0].type).width
    copied = _operations_of_a_sum(products)
    shapes = [
        shape
        for shape in _SHAPES
        if shape.thread_rows * shape.thread_columns * max(copied, width * 16 // 32) <= _MOST_COPIED
        and rows * columns >= _LEAST_USED * _covered(rows, columns, shape)
    ]

    def time(shape: TileShape) -> float:
        blocks = _covered(rows, columns, shape) // (shape.rows * shape.columns) * batches
        waves = -(-blocks // _PROCESSORS)
        return waves * shape.rows * shape.columns / shape.share

    return min(shapes, key=time, default=None)


def sum_length(products: ThreadProducts) -> int | None:
    """Return how many products a sum is of, if that is known."""
    trips = [spans(sum_.op)[0].trips for sum_ in products.sums]
    return None if None in trips else prod(trip for trip in trips if trip is not None)


def _covered(rows: int, columns: int, shape: TileShape) -> int:
    """Return how many points the tiles of a box have."""
    return -(-rows // shape.rows) * shape.rows * -(-columns // shape.columns) * shape.columns


def _operations_of_a_sum(products: ThreadProducts) -> int:
    body = block_operations(Parallel(products.loop).body)[:-1]
    copied = [op for op in body if op != products.nest]
    return sum(1 + len(list(operations(op))) for op in copied) + len(
        [op for op in copied if is_access(op)]
    )
