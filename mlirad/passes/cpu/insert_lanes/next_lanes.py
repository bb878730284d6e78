"""Prefetches of what the vectors of iterations behind these access.

A vector of iterations of a large body is thousands of instructions long. A processor looks some
hundred instructions ahead, so it does not see the next one's loads, and what it foresees of streams
comes late. It foresees few streams: a stencil reads a row of each array at each offset, and waits
for every line of the row that is new, even in a small body. Of rows of large arrays, the next row
is fetched, an iteration of the loop over rows ahead. Behind the end of an array a prefetch does
nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from mlirad.analysis.linear import Linear, linear_form
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.large_arrays import bytes_of_memref, bytes_of_number
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import ancestors
from mlirad.passes.cpu.insert_lanes.addresses import Place
from mlirad.passes.cpu.insert_lanes.next_rows import LINE, prefetch

_AHEAD = 2  # vectors of iterations; with 1 and 3 lbm's tape took longer
_ROW, _ARRAY = 1 << 10, 1 << 19  # bytes: a time ahead that is enough, and what caches do not hold
_AT_ONCE = 2  # lines; lbm's reverse with tangents took longer with 4 or more
_FORESEEN = 3  # rows that are read together


class NextLanes:
    """Prefetches in the body of one loop, of each line once; in a small body only of rows that are
    read, where they are many."""

    def __init__(self, loop: ir.Operation, body: ir.Block, width: int, *, is_large: bool) -> None:
        self._body, self._width, self._is_large = body, width, is_large
        around = next(filter(is_for, ancestors(loop)), None)
        self._row = None if around is None else For(around).induction
        self._fetched: dict[object, list[int]] = {}
        self._rows, self._lines = 0, deque[_RowLine]()

    def fetch(self, place: Place, *, is_write: bool) -> None:
        """Prefetch behind what lanes access at a place."""
        size = bytes_of_number(ir.MemRefType(place.flat.type).element_type)
        if place.stride is None or not 0 < place.stride * size <= LINE:
            return
        if ir.InsertionPoint.current.block != self._body:
            return
        if self._is_large:  # in a small one, loads wait for prefetches among them
            self._prefetch(_AT_ONCE)
        covered, form = place.stride * self._width, linear_form(place.offset)
        constants = self._fetched.setdefault((place.flat, form.terms), [])
        if _is_covered(form.constant, constants, covered):
            return
        constants.append(form.constant)
        elements, row = range(0, covered, LINE // size), self._row_of(place, form, size)
        if self._is_large:
            for element in elements:
                _Line(place, _AHEAD * covered + element, is_write).prefetch()
        if row and not is_write:
            self._rows += 1
            ahead = form.constant + row
            for element in elements:
                line = _Line(place, row + element, is_write)
                self._lines.append(_RowLine(line, ahead, constants, covered))

    def finish(self) -> None:
        """Prefetch what is left."""
        self._prefetch(len(self._lines))

    def _prefetch(self, count: int) -> None:
        """Prefetch lines of rows, if more are read than a processor foresees."""
        for _ in range(min(count, len(self._lines)) * (self._rows > _FORESEEN)):
            self._lines.popleft().prefetch()

    def _row_of(self, place: Place, form: Linear[ir.Value], size: int) -> int:
        """Return how many elements the next row is away; 0 where that is no use."""
        if self._row is None or bytes_of_memref(place.flat.type) < _ARRAY:
            return 0
        row = form.coefficient(self._row)
        return row if row * size >= _ROW else 0


def _is_covered(constant: int, constants: Sequence[int], covered: int) -> bool:
    """Return whether lanes that cover some elements access what lies there, at one of some
    places."""
    return any(abs(constant - other) < covered for other in constants)


class _Line(msgspec.Struct, frozen=True):
    """A line some elements behind a place."""

    place: Place
    distance: int
    is_write: bool

    def prefetch(self) -> None:
        at = b.add(self.place.offset, b.index(self.distance))
        prefetch(self.place.flat, at, is_write=self.is_write)


class _RowLine(msgspec.Struct, frozen=True):
    """A line of the next row, at a constant in elements, in an array that is accessed at others."""

    line: _Line
    constant: int
    constants: Sequence[int]
    covered: int

    def prefetch(self) -> None:
        """Prefetch it, if it is not accessed now."""
        if not _is_covered(self.constant, self.constants, self.covered):
            self.line.prefetch()
