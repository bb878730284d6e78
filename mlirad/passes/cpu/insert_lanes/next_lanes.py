"""Prefetches of what the vectors of iterations behind these access.

A vector of iterations of a large body is thousands of instructions long. A processor looks some
hundred instructions ahead, so it does not see the next one's loads, and what it foresees of streams
comes late. Behind the end of an array a prefetch does nothing.
"""

from __future__ import annotations

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.large_arrays import bytes_of_number
from mlirad.passes.cpu.insert_lanes.addresses import Place
from mlirad.passes.cpu.insert_lanes.next_rows import LINE, prefetch

_AHEAD = 2  # vectors of iterations; with 1 and 3 lbm's tape took longer


class NextLanes:
    """Prefetches in the body of one loop, of each line once."""

    def __init__(self, body: ir.Block, width: int) -> None:
        self._body, self._width = body, width
        self._fetched: dict[object, list[int]] = {}

    def fetch(self, place: Place, *, is_write: bool) -> None:
        """Prefetch behind what lanes access at a place."""
        size = bytes_of_number(ir.MemRefType(place.flat.type).element_type)
        if place.stride is None or not 0 < place.stride * size <= LINE:
            return
        if ir.InsertionPoint.current.block != self._body:
            return
        covered, form = place.stride * self._width, linear_form(place.offset)
        constants = self._fetched.setdefault((place.flat, form.terms), [])
        if any(abs(form.constant - constant) < covered for constant in constants):
            return
        constants.append(form.constant)
        for element in range(0, covered, LINE // size):
            at = b.add(place.offset, b.index(_AHEAD * covered + element))
            prefetch(place.flat, at, is_write=is_write)
