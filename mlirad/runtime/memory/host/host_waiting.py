"""Elements in the memory of the host that wait, to be cleared or, in some boxes, to be put back:
memory holds what was there before, and nobody else looks at it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mlirad.ir.memory.waiting import LEAST
from mlirad.runtime.boxes import Box, KnownBox, within_shape
from mlirad.runtime.memory.host.host_rows import HostRows, Rows, is_whole
from mlirad.runtime.memory.host.short_axes import assign
from mlirad.runtime.memory.values import Values, part
from mlirad.runtime.memory.waiting import (
    Clearing,
    KeptValues,
    Waiting,
    WaitingCopies,
    WaitingRows,
)


class HostLaunchSpace:
    """Bytes in which elements lie, all of which are known."""

    __slots__ = ("address", "members", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.members = address, size, list[HostWaiting]()

    def clear(self) -> bool:
        """Set all bytes to 0, where all elements in them wait to be cleared; whether they did."""
        if not all(one.home is None and one.do_all_wait() for one in self.members):
            return False
        ctypes.memset(self.address, 0, self.size)
        for one in self.members:
            one.stop()
        return True


class _Home(NamedTuple):
    """Where elements lay, and what they waited with."""

    memory: Values
    row: HostRows
    clearing: Clearing | None


class HostWaiting(Waiting):
    """What waits of an array, in a room with others or by itself."""

    __slots__ = ("_clearing", "_copies", "_memory", "_room", "_row", "_rows", "home", "is_lent")

    def __init__(self, memory: Values, room: HostLaunchSpace | None) -> None:
        self._memory, self._room, self._row = memory, room, HostRows(memory)
        self.is_lent = False  # to somebody who looks at any time
        self._clearing: Clearing | None = None  # None: nothing waits
        self._rows: WaitingRows | None = None  # where some do not wait to be cleared
        self._copies: WaitingCopies[Values] | None = None  # of what waits to be put back
        self.home: _Home | None = None  # of elements that moved
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
        if not self.do_all_wait():
            with clearing.lock:
                self._clearing, self._rows, self._copies = clearing, None, None
                clearing.version += 1
        return True

    def move(self, memory: Values | None) -> Values | None:
        """The elements lie in other memory, of which nothing waits, or where they did before, of
        which does what did (None): there. None where they stay: somebody looks at them at any time,
        some of them wait and others not, or they are there."""
        home = self.home
        if memory is None and home is not None:
            self.stop()
            (self._memory, self._row, self._clearing), self.home = home, None
            return self._memory
        if memory is None or home or self.is_lent or self._rows is not None or self._copies:
            return None
        self.home = _Home(self._memory, self._row, self._clearing)
        self._memory, self._row, self._clearing = memory, HostRows(memory), None
        return memory

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
                    self._clear(rows)
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
        rows = self._row.of(box)
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
        rows = self._row.of(box)
        if self.is_lent or rows is None or not self._row.may_part:
            return False
        if self.do_all_wait():
            return True
        with clearing.lock:
            if self._copies is not None:
                return False
            waiting = self._rows or self._row.waiting(do_wait=False)
            does_wait = waiting.add(*rows)
            if waiting and self._clearing is None:
                self._rows, self._clearing = waiting, clearing
                clearing.version += 1
            return does_wait

    def _hold(self, rows: Rows) -> bool:
        """Whether a box of some rows waits to be cleared, and what lies around it can."""
        if self._rows is not None:
            return self._rows.hold(*rows)
        return self._clearing is not None and (self._row.is_all(rows) or self._row.may_part)

    def put_back(self, copies: Sequence[tuple[Box, KeptValues]], clearing: Clearing) -> None:
        """Hold again what copies of boxes hold: where nothing is in two of them, when it is
        used."""
        shape = self._memory.shape
        waiting = dict(() if self._copies is None else self._copies)
        waiting |= {  # of several copies of one box the first
            within_shape(box, shape): kept.values
            for box, kept in reversed(copies)
            if kept.values is not None and kept.values.size
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

    def do_all_wait(self) -> bool:
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
        if self._rows is None and (rows is None or not self._row.may_part):
            room, lie_apart = self._room, not self._memory.flags.c_contiguous
            if not (lie_apart and room is not None and room.clear()):
                set_all(self._memory, 0)
                self.stop()
            return
        waiting = self._part()
        self._row.clear(waiting, rows)
        if not waiting:
            self.stop()

    def _part(self) -> WaitingRows:
        """Which rows wait: all, until now, where that was not asked."""
        if self._rows is None:
            self._rows = self._row.waiting(do_wait=True)
        return self._rows

    def _clear_around(self, box: KnownBox) -> None:
        """Set to 0 what waits in the rows of a box, but for the box itself."""
        if is_whole(box, self._memory.shape):
            self.stop()
        elif self._row.may_part:
            waiting = self._part()
            self._row.clear_around(waiting, box)
            if not waiting:
                self.stop()


def set_all(memory: Values, value: object) -> None:
    """Set everything to one number."""
    if not memory.flags.c_contiguous:
        assign(memory, value)
    elif isinstance(value, int | float | np.generic) and value == 0:
        ctypes.memset(memory.ctypes.data, 0, memory.nbytes)
    else:
        memory.fill(value)
