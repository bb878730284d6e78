"""Deferred writes to arrays of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes.copies import NO_COPIES, Copies
from mlirad.runtime.memory.deferred_writes.later_writes import Backlog, LaterWrites
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Pending, Write
from mlirad.runtime.memory.short_axes import assign, set_all
from mlirad.runtime.memory.values import Values, address_of, part


class Room:
    """Bytes in which arrays lie, all of which are known."""

    __slots__ = ("address", "members", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.members = address, size, list[DeferredWrites]()

    def clear(self) -> bool:
        """Set all bytes to 0, if zeros are to be written to all arrays; whether they are."""
        if not all(array.are_zeros and not array.are_elsewhere for array in self.members):
            return False
        ctypes.memset(self.address, 0, self.size)
        for array in self.members:
            array.become(NOTHING)
        return True


class _Home(NamedTuple):
    """The memory of an array before it moved, and the writes that were deferred there."""

    memory: Values
    pending: Pending


class DeferredWrites(LaterWrites):
    """Deferred writes to an array of the host, of copies too."""

    __slots__ = ("_address", "_copies", "_home", "_memory", "_room", "is_lent")

    def __init__(self, memory: Values, room: Room | None) -> None:
        super().__init__(memory.shape, memory.nbytes, in_rows=memory.flags.c_contiguous)
        self._memory, self._room = memory, room
        self._address = address_of(memory)
        if room is not None:
            room.members.append(self)
        self._copies = NO_COPIES  # of all boxes to which copies are still to be written, or more
        self._home: _Home | None = None
        self.is_lent = False  # to somebody who looks at any time

    @property
    def are_possible(self) -> bool:
        return not self.is_lent and super().are_possible

    @property
    def are_zeros(self) -> bool:
        """Return whether zeros are to be written to all elements."""
        return self.pending.are_zeros(self._whole)

    # Defer.

    def put_back(self, copies: Mapping[KnownBox, Values], backlog: Backlog) -> bool:
        """Defer writes of copies to boxes; whether they are deferred."""
        with backlog.lock:
            earlier = self.pending.writes
            values = {**self._copies.values, **copies}
            boxes = {w.box for w in earlier} | {box for box, copy in copies.items() if copy.size}
            writes = [Write(box, True) for box in sorted(boxes)]
            if (
                not self.are_possible
                or not all(write.is_copy for write in earlier)
                or any(before.last >= after.first for before, after in pairwise(writes))
            ):
                return False
            self._backlog = backlog
            self._put_back(Copies(Pending(writes) if writes else NOTHING, values))
        return True

    def put_back_again(self, copies: Copies, backlog: Backlog) -> bool:
        with backlog.lock:
            if not self.are_possible or not (self._copies is copies or self.pending is NOTHING):
                return False
            self._backlog = backlog
            self._put_back(copies)
        return True

    def _put_back(self, copies: Copies) -> None:
        self._copies = copies
        self.become(copies.pending)

    def become(self, pending: Pending) -> None:
        super().become(pending)
        if pending is NOTHING or pending is self._zeros:
            self._copies = NO_COPIES

    def copies(self) -> Copies | None:
        if self.pending is not self._copies.pending:
            if not all(write.is_copy for write in self.pending.writes):
                return None
            self._copies = Copies(self.pending, self._copies.values)
        return None if self.pending is NOTHING else self._copies

    # Do them.

    def release_copies(self) -> None:
        if self._copies is not NO_COPIES:
            self.finish()

    def _do(self, write: Write) -> None:
        if write.is_copy:
            assign(part(self._memory, write.box), self._copies.values[write.box])
        elif self.in_rows and write.box[1:] != self._whole[1:]:
            self._set_to_zero(write.box)
        elif self.in_rows:
            row_bytes = self._bytes // self._shape[0]
            count = write.last + 1 - write.first
            ctypes.memset(self._address + write.first * row_bytes, 0, count * row_bytes)
        elif self.pending is not NOTHING and (self._room is None or not self._room.clear()):
            set_all(self._memory, 0)

    def _set_to_zero(self, box: KnownBox) -> None:
        set_all(part(self._memory, box), 0)

    # Do without them.

    def move(self, memory: Values | None) -> Values | None:
        """Lie in other memory, or where the array did at first (None), with the writes that were
        deferred there; that memory. None where it stays: somebody looks at it at any time, copies
        are to be put back, or it is there."""
        pending = NOTHING
        if memory is None:
            if self._home is None:
                return None
            (memory, pending), self._home = self._home, None
        elif self.is_lent or self._copies is not NO_COPIES:
            return None
        elif self._home is None:
            self._home = _Home(self._memory, self.pending)
        else:
            self.finish()
        with self._backlog.lock:
            self._memory, self._address = memory, address_of(memory)
            self.become(pending)
        return memory

    @property
    def are_elsewhere(self) -> bool:
        """Return whether the array has moved."""
        return self._home is not None
