"""Elements in the memory of the host that wait, to be cleared or, in some boxes, to be put back:
memory holds what was there before, and nobody else looks at it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np

from mlirad.ir.waiting import LEAST
from mlirad.runtime.boxes import Box, KnownBox, lies_in, within_shape
from mlirad.runtime.memory.short_axes import assign
from mlirad.runtime.memory.values import Values, part
from mlirad.runtime.memory.waiting import (
    Clearing,
    KeptValues,
    Waiting,
    WaitingCopies,
    WaitingRows,
)

_MOST_ROWS = 1 << 16  # of which some may wait, and others not


class HostRoom:
    """Bytes in which elements lie, all of which are known."""

    __slots__ = ("address", "members", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.members = address, size, list[HostWaiting]()


class HostWaiting(Waiting):
    """What waits of an array, in a room with others or by itself."""

    __slots__ = (
        "_address",
        "_clearing",
        "_copies",
        "_is_packed",
        "_memory",
        "_parts",
        "_room",
        "_rows",
        "is_lent",
    )

    def __init__(self, memory: Values, room: HostRoom | None) -> None:
        self._memory, self._room, self._is_packed = memory, room, memory.flags.c_contiguous
        self._address: int = memory.__array_interface__["data"][0]
        self._parts: dict[Box, KnownBox | None] = {}  # what boxes of launches have of a row
        self.is_lent = False  # to somebody who looks at any time
        self._clearing: Clearing | None = None  # None: nothing waits
        self._rows: WaitingRows | None = None  # where some do not wait to be cleared
        self._copies: WaitingCopies[Values] | None = None  # of what waits to be put back
        if room is not None:
            room.members.append(self)

    @property
    def is_any(self) -> bool:
        """Whether some elements wait."""
        return self._clearing is not None

    @property
    def is_put_back_later(self) -> bool:
        """Whether they wait to be put back."""
        return self._copies is not None

    def clear(self, clearing: Clearing) -> bool:
        """Let all elements wait to be cleared; whether they do."""
        if self._memory.nbytes < LEAST or self.is_lent:
            return False
        if not self._is_as_a_whole():
            with clearing.lock:
                self._clearing, self._rows, self._copies = clearing, None, None
                clearing.version += 1
        return True

    def stop(self) -> None:
        """All elements were set."""
        self._clearing = self._rows = self._copies = None

    def use(self, rows: Iterable[tuple[int, int]] | None = None) -> bool:
        """Let nothing wait, or nothing of some rows; whether others do."""
        clearing = self._clearing
        if clearing is not None:
            with clearing.lock:
                if self._copies is not None:
                    self._put_back(self._copies, rows)
                elif self._clearing is not None:
                    self._clear(rows if self._is_packed else None)
        return self._clearing is not None

    def begin(self, box: Box) -> None:
        """All elements of a box are about to be set."""
        clearing, shape = self._clearing, self._memory.shape
        if clearing is None or len(box) != len(shape):
            return
        known = within_shape(box, shape)
        if any(low > high for low, high in known):
            return
        with clearing.lock:
            if self._copies is not None:
                self._copies.drop(known)
                if not self._copies:
                    self.stop()
            elif self._clearing is not None:
                self._clear_around(known)

    def begin_anew(self, box: Box) -> bool:
        """All elements of a box are about to be set; whether they wait to be cleared, and count as
        0."""
        clearing = self._clearing
        if clearing is None:
            return False
        rows = self._rows_of(box)
        with clearing.lock:
            if self._rows is not None and rows is not None and self._rows.take_just(*rows):
                if not self._rows:
                    self.stop()
                return True
            if self._copies is None and rows is not None and self._hold(rows):
                self._clear_around(within_shape(box, self._memory.shape))
                return True
        self.use(None if rows is None else [rows[:2]])
        return False

    def clear_later(self, box: Box, clearing: Clearing) -> bool:
        """Let the elements of a box wait to be cleared; whether they do."""
        rows = self._rows_of(box)
        if self.is_lent or rows is None or not self._may_part:
            return False
        if self._is_as_a_whole():
            return True
        with clearing.lock:
            if self._copies is not None:
                return False
            if self._clearing is None:
                self._rows = WaitingRows(len(self._memory), do_wait=False)
                self._clearing = clearing
                clearing.version += 1
            assert self._rows is not None
            return self._rows.add(*rows)

    def _rows_of(self, box: Box) -> tuple[int, int, KnownBox | None] | None:
        """The rows of a box, the first and the last, and what it has of each; None where it has no
        element, or is a box of other elements."""
        others, (first, last) = box[1:], (box[0] if box else (None, None))
        if others not in self._parts:
            self._parts[others] = _part_of_row(others, self._memory.shape[1:])
        part_of_row = self._parts[others]
        if part_of_row == () or first is None or last is None or not 0 <= first <= last:
            return None
        return first, min(last, len(self._memory) - 1), part_of_row

    @property
    def _may_part(self) -> bool:
        """Whether some rows may wait, and others not."""
        shape = self._memory.shape
        return self._is_packed and bool(shape) and shape[0] <= _MOST_ROWS

    def _hold(self, rows: tuple[int, int, KnownBox | None]) -> bool:
        """Whether a box of some rows waits to be cleared, and what lies around it can."""
        if self._rows is not None:
            return self._rows.hold(*rows)
        is_all = rows == (0, len(self._memory) - 1, None)
        return self._clearing is not None and (is_all or self._may_part)

    def put_back(self, copies: Sequence[tuple[Box, KeptValues]], clearing: Clearing) -> None:
        """Hold again what copies of boxes hold: where nothing is in two of them, when it is
        used."""
        shape = self._memory.shape
        waiting = dict(() if self._copies is None else self._copies)
        waiting |= {
            within_shape(box, shape): kept.values for box, kept in copies if kept.values is not None
        }
        is_cleared_later = self._clearing is not None and self._copies is None
        if (
            self._memory.nbytes < LEAST
            or not shape
            or self.is_lent
            or is_cleared_later
            or any(kept.values is None for _, kept in copies)
            or not WaitingCopies.are_apart(waiting)
        ):
            super().put_back(copies, clearing)
            return
        with clearing.lock:
            self._copies, self._clearing = WaitingCopies(waiting.items()), clearing
            clearing.version += 1
            clearing.put_back_later.add(self)

    def copy_of(self, box: Box) -> Values | None:
        """A copy that waits to be put back."""
        copies = self._copies
        return None if copies is None else copies.find(within_shape(box, self._memory.shape))

    def _is_as_a_whole(self) -> bool:
        """Whether all elements wait to be cleared."""
        return self._clearing is not None and self._rows is None and self._copies is None

    def _put_back(
        self, copies: WaitingCopies[Values], rows: Iterable[tuple[int, int]] | None
    ) -> None:
        """Put back what waits for it, or of that some rows."""
        for first, last in [(0, len(self._memory))] if rows is None else rows:
            for box, copy in copies.take(first, last):
                assign(part(self._memory, box), copy)
        if not copies:
            self.stop()

    def _clear(self, rows: Iterable[tuple[int, int]] | None) -> None:
        """Set what waits to 0, or of that some rows."""
        if rows is None and self._rows is None:
            self._clear_together()
            return
        size = len(self._memory)
        waiting = self._rows = self._rows or WaitingRows(size, do_wait=True)
        for first, last in [(0, size)] if rows is None else rows:
            for start, count, part_of_row in waiting.take(first, last):
                self._clear_rows(start, count, part_of_row)
        if not waiting:
            self.stop()

    def _clear_together(self) -> None:
        """Set all elements to 0; with all that lie between them, where these wait too."""
        room, members = self._room, [self]
        if room is None or self._is_packed or not all(m._is_as_a_whole() for m in room.members):
            set_all(self._memory, 0)
        else:
            ctypes.memset(room.address, 0, room.size)
            members = room.members
        for member in members:
            member.stop()

    def _clear_rows(self, first: int, count: int, box: KnownBox | None) -> None:
        """Set some rows to 0, or a box of each."""
        if box is None:
            size = self._memory.strides[0]
            ctypes.memset(self._address + first * size, 0, count * size)
        else:
            part(self._memory, ((first, first + count - 1), *box))[...] = 0

    def _clear_around(self, box: KnownBox) -> None:
        """Set to 0 what waits in the rows of a box, but for the box itself."""
        shape = self._memory.shape
        if _is_all(box, shape):
            self.stop()
        elif self._may_part:
            waiting = self._rows = self._rows or WaitingRows(shape[0], do_wait=True)
            for first, count, part_of_row in waiting.take(*box[0]):
                rows = self._memory[first : first + count]
                if part_of_row is None:
                    _clear_outside(rows, box)
                elif not lies_in(part_of_row, box[1:]):
                    self._clear_rows(first, count, part_of_row)
            if not waiting:
                self.stop()


def _is_all(box: KnownBox, shape: tuple[int, ...]) -> bool:
    """Whether a box has all elements."""
    return all(ends == (0, extent - 1) for ends, extent in zip(box, shape))


def _part_of_row(box: Box, shape: tuple[int, ...]) -> KnownBox | None:
    """A box of the elements of a row: None for all of them, nothing for none."""
    known = within_shape(box, shape)
    if len(box) != len(shape) or any(low > high for low, high in known):
        return ()
    return None if _is_all(known, shape) else known


def _clear_outside(rows: Values, box: KnownBox) -> None:
    """Set rows to 0, but for a box of them."""
    before: tuple[slice, ...] = (slice(None),)
    for (low, high), extent in zip(box[1:], rows.shape[1:]):
        if low > 0:
            rows[(*before, slice(low))] = 0
        if high < extent - 1:
            rows[(*before, slice(high + 1, None))] = 0
        rows, before = rows[(*before, slice(low, high + 1))], (*before, slice(None))


def set_all(memory: Values, value: object) -> None:
    """Set everything to one number."""
    if not memory.flags.c_contiguous:
        assign(memory, value)
    elif isinstance(value, int | float | np.generic) and value == 0:
        ctypes.memset(memory.ctypes.data, 0, memory.nbytes)
    else:
        memory.fill(value)
