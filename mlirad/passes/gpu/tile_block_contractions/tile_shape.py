"""The size of tiles, chosen in this one place."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from mlirad.analysis.contractions.thread_products import ThreadProducts
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import block_operations, operations

_PROCESSORS = 128  # about as many as a large GPU has
_UNKNOWN = 1024  # values of an index of which nothing is known
_LEAST_SIDE, _LEAST_LENGTH = 8, 16  # rows or columns, and trips of the sum that pay
_REGISTERS = 64  # for the sums of a thread
_LEAST_USED = 0.3  # of the points of the tiles
_LEAST_PART = 256  # trips of a part of a sum
_MOST_PARTS = 512
_MOST_SCRATCH = 1 << 26  # numbers in all parts of the sums
_BYTES = 0.7  # multiplications of a processor in the time that a number goes to memory and back
# Multiplications of a processor (128 in each cycle) between two panels of a block: on an H200,
# 0.66 microseconds, whether a block has few threads or many.
_LATENCY = 128 * 1300
_ADDITION = 128 * 58  # the same for a part that a thread adds to a sum: 29 ns on an H200
_FILE = 1 << 16  # registers of a processor
_REGISTERS_BESIDE = 45  # of a thread, beside its sums and what it multiplies


class TileShape(NamedTuple):
    """The sums of a block, and of each of its threads; what part of the instructions that it issues
    multiply, by a count of those of sm_90; the trips of the sum between two barriers, of which
    small tiles need many for the latency of memory."""

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    share: float
    trips: int = 8

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns)

    def resident(self, registers: int) -> int:
        """Return how many blocks a processor holds, if a number takes so many registers."""
        sums = self.thread_rows * self.thread_columns + self.thread_rows + self.thread_columns
        return max(1, _FILE // (self.threads * (sums * registers + _REGISTERS_BESIDE)))


_SHAPES = (
    TileShape(128, 128, 8, 8, 0.88),
    TileShape(128, 64, 8, 8, 0.85),
    TileShape(64, 128, 8, 8, 0.85),
    TileShape(64, 64, 8, 4, 0.75),
    TileShape(128, 32, 8, 4, 0.72),
    TileShape(32, 128, 4, 8, 0.72),
    TileShape(32, 32, 4, 4, 0.6),
    TileShape(32, 32, 4, 4, 0.6, 16),
    TileShape(32, 32, 4, 4, 0.6, 32),
    TileShape(256, 8, 8, 4, 0.6),
    TileShape(8, 256, 4, 8, 0.6),
    TileShape(128, 8, 4, 4, 0.45),
    TileShape(8, 128, 4, 4, 0.45),
    TileShape(128, 8, 4, 4, 0.45, 16),
    TileShape(8, 128, 4, 4, 0.45, 16),
)


class Cut(NamedTuple):
    """The shape of tiles, and how many parts a sum has, which are added up at last."""

    shape: TileShape
    shares: int


def choose_cut(products: ThreadProducts, least: int) -> Cut | None:
    """The cut that takes the least time; None where none is worth it."""
    trips = spans(products.loop)
    rows, columns, batches = (
        prod(_UNKNOWN if trips[axis].trips is None else trips[axis].trips or 0 for axis in axes)
        for axes in (products.rows, products.columns, products.batches)
    )
    known_length = sum_length(products)
    length = _UNKNOWN if known_length is None else known_length
    if not products.rows or not products.columns:
        return None
    if min(rows, columns) < _LEAST_SIDE or length < _LEAST_LENGTH:
        return None
    if rows * columns * batches * length < least:
        return None
    registers = ir.FloatType(products.step.results[0].type).width // 32
    shapes = [
        shape
        for shape in _SHAPES
        if shape.thread_rows * shape.thread_columns * registers <= _REGISTERS
        and rows * columns >= _LEAST_USED * _covered(rows, columns, shape)
    ]

    is_known = known_length is not None and None not in [span.trips for span in trips]
    points = rows * columns * batches
    most = min(_MOST_PARTS, length // _LEAST_PART, _MOST_SCRATCH // points) if is_known else 1
    cuts = [Cut(shape, shares) for shape in shapes for shares in _powers_of_two(most)]

    def time(cut: Cut) -> tuple[float, float]:
        """Return what decides: the time of the slowest processor, then its multiplications."""
        shape, shares = cut
        blocks = _covered(rows, columns, shape) // (shape.rows * shape.columns) * batches * shares
        together = min(shape.resident(registers), -(-blocks // _PROCESSORS))
        panel = together * shape.rows * shape.columns * shape.trips / shape.share
        panels = -(-blocks // (_PROCESSORS * together)) * -(-length // (shares * shape.trips))
        stored = shares * (points * _BYTES + _ADDITION) if shares > 1 else 0
        return panels * max(panel, _LATENCY) + stored, panels * panel

    return min(cuts, key=time, default=None)


def _powers_of_two(most: int) -> list[int]:
    """Return those up to a number, 1 at least."""
    return [1 << bits for bits in range(max(1, most).bit_length())]


def sum_length(products: ThreadProducts) -> int | None:
    """Return how many products a sum is of, if that is known."""
    trips = [spans(sum_.op)[0].trips for sum_ in products.sums]
    return None if None in trips else prod(trip for trip in trips if trip is not None)


def _covered(rows: int, columns: int, shape: TileShape) -> int:
    """Return how many points the tiles of a box have."""
    return -(-rows // shape.rows) * shape.rows * -(-columns // shape.columns) * shape.columns


def operations_of_a_sum(products: ThreadProducts) -> int:
    """Return how many operations an iteration makes beside its sum."""
    body = block_operations(Parallel(products.loop).body)[:-1]
    ops = [op for op in body if op != products.nest]
    return sum(1 + len(list(operations(op))) for op in ops)
