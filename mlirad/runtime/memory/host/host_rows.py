"""Rows of elements in the memory of the host: all with one first index."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from mlirad.runtime.boxes import Box, KnownBox, lies_in, within_shape
from mlirad.runtime.memory.values import Values, part
from mlirad.runtime.memory.waiting import WaitingRows

_MOST = 1 << 16  # of which some may wait, and others not
_MOST_BOXES = 64  # of a row that are remembered

Rows = tuple[int, int, KnownBox | None]  # the first, the last, and a box of each, or all of it


class HostRows:
    """Those of an array, some of which may wait to be cleared."""

    __slots__ = ("_address", "_memory", "_parts", "may_part")

    def __init__(self, memory: Values) -> None:
        self._memory, self._address = memory, int(memory.__array_interface__["data"][0])
        self._parts: dict[Box, KnownBox | None] = {}  # what boxes of launches have of a row
        # whether some may wait, and others not
        self.may_part = bool(memory.flags.c_contiguous and memory.ndim and len(memory) <= _MOST)

    def waiting(self, *, do_wait: bool) -> WaitingRows:
        """Which wait: all, or none."""
        return WaitingRows(len(self._memory), do_wait=do_wait)

    def of(self, box: Box) -> Rows | None:
        """Those of a box; None where it has no element, or is a box of other elements."""
        others, (first, last) = box[1:], (box[0] if box else (None, None))
        try:
            part_of_row = self._parts[others]
        except KeyError:  # other threads may forget what this one finds
            part_of_row = self._found(others)
        if part_of_row == () or first is None or last is None or not 0 <= first <= last:
            return None
        return first, min(last, len(self._memory) - 1), part_of_row

    def _found(self, others: Box) -> KnownBox | None:
        """What a box has of a row, which is remembered."""
        if len(self._parts) >= _MOST_BOXES:
            self._parts = {}
        found = self._parts[others] = _part_of_row(others, self._memory.shape[1:])
        return found

    def is_all(self, rows: Rows) -> bool:
        """Whether they are all elements."""
        return rows == (0, len(self._memory) - 1, None)

    def clear(self, waiting: WaitingRows, ranges: Iterable[tuple[int, int]] | None) -> None:
        """Set to 0 what waits of some, or of all."""
        for first, last in [(0, len(self._memory))] if ranges is None else ranges:
            for start, count, part_of_row in waiting.take(first, last):
                self._clear(start, count, part_of_row)

    def clear_around(self, waiting: WaitingRows, box: KnownBox) -> None:
        """Set to 0 what waits in the rows of a box, but for the box itself."""
        for first, count, part_of_row in waiting.take(*box[0]):
            if part_of_row is None:
                _clear_outside(self._memory[first : first + count], box)
            elif not lies_in(part_of_row, box[1:]):
                self._clear(first, count, part_of_row)

    def _clear(self, first: int, count: int, box: KnownBox | None) -> None:
        if box is None:
            size = self._memory.strides[0]
            ctypes.memset(self._address + first * size, 0, count * size)
        else:
            part(self._memory, ((first, first + count - 1), *box))[...] = 0


def is_whole(box: KnownBox, shape: tuple[int, ...]) -> bool:
    """Whether a box has all elements."""
    return all(ends == (0, extent - 1) for ends, extent in zip(box, shape))


def _part_of_row(box: Box, shape: tuple[int, ...]) -> KnownBox | None:
    """A box of the elements of a row: None for all of them, nothing for none."""
    known = within_shape(box, shape)
    if len(box) != len(shape) or any(low > high for low, high in known):
        return ()
    return None if is_whole(known, shape) else known


def _clear_outside(rows: Values, box: KnownBox) -> None:
    """Set rows to 0, but for a box of them."""
    before: tuple[slice, ...] = (slice(None),)
    for (low, high), extent in zip(box[1:], rows.shape[1:]):
        if low > 0:
            rows[(*before, slice(low))] = 0
        if high < extent - 1:
            rows[(*before, slice(high + 1, None))] = 0
        rows, before = rows[(*before, slice(low, high + 1))], (*before, slice(None))
