"""Prefetches of the rows that the next lanes access.

Lanes in separate rows miss the cache together wherever a line begins, and a processor foresees few
streams of addresses, and fewer that run backwards. The rows of the next lanes lie behind those of
these lanes, so that a loop along them fetches in each trip as much as it accesses. Behind the end
of an array a prefetch does nothing.
"""

from __future__ import annotations

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.large_arrays import bytes_of_number
from mlirad.ir.ops import Memref
from mlirad.ir.structured import For
from mlirad.ir.walk import constant_integer, operations
from mlirad.passes.cpu.insert_lanes.addresses import Place

LINE = 64  # bytes
_STREAMS = 32  # which processors foresee, forwards


class NextRows:
    """Prefetches in one inner loop; `original` is the loop before it had lanes."""

    def __init__(self, loop: For, original: ir.Operation, width: int) -> None:
        self._induction, self._width = loop.induction, width
        low, high, step = (constant_integer(value) for value in list(loop.op.operands)[:3])
        self._low, self._trips = 0, 0
        if low is not None and high is not None and step == 1:
            self._low, self._trips = low, high - low
        arrays = {_array_of(op) for op in operations(original)} - {None}
        self._are_many = len(arrays) * width > _STREAMS
        self._fetched: set[tuple[ir.Value, ir.Block]] = set()

    def fetch(self, place: Place, *, is_write: bool) -> None:
        """Prefetch behind what lanes access at a place, once for each array in a block."""
        factor = linear_form(place.offset).coefficient(self._induction)
        key = place.flat, ir.InsertionPoint.current.block
        are_foreseen = factor > 0 and not self._are_many
        if key in self._fetched or abs(factor) != 1 or are_foreseen or not self._are_rows(place):
            return
        self._fetched.add(key)
        self._fetch(place, factor, is_write)

    def _are_rows(self, place: Place) -> bool:
        """Return whether the loop goes along most of a row of each lane."""
        return place.stride is not None and self._trips <= place.stride <= 2 * self._trips

    def _fetch(self, place: Place, factor: int, is_write: bool) -> None:
        assert place.stride is not None
        trip = b.sub(self._induction, b.index(self._low))
        behind = place.stride * self._width - (self._trips - 1 if factor < 0 else 0)
        ahead = b.mul(trip, b.index(self._width - factor))
        at = b.add(b.add(place.offset, ahead), b.index(behind))
        size = bytes_of_number(ir.MemRefType(place.flat.type).element_type)
        for number in range(max(1, self._width * size // LINE)):
            prefetch(place.flat, b.add(at, b.index(number * LINE // size)), is_write=is_write)


def prefetch(flat: ir.Value, at: ir.Value, *, is_write: bool) -> None:
    """Fetch a line into the nearest cache."""
    b.effect(
        Memref.PREFETCH,
        [flat, at],
        isWrite=ir.BoolAttr.get(is_write),
        localityHint=ir.IntegerAttr.get(b.integer_type(32), 3),
        isDataCache=ir.BoolAttr.get(True),
    )


def _array_of(op: ir.Operation) -> ir.Value | None:
    if op.name == Memref.LOAD:
        return op.operands[0]
    return op.operands[1] if op.name == Memref.STORE else None
