"""Deferred writes to arrays of the host."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise

from mlirad.ir.memory.large_arrays import LEAST
from mlirad.runtime.boxes import Box, KnownBox, lies_in, within_shape
from mlirad.runtime.memory.deferred_writes.copies import Copies
from mlirad.runtime.memory.deferred_writes.later_writes import Backlog, Ends, LaterWrites
from mlirad.runtime.memory.deferred_writes.write import Write
from mlirad.runtime.memory.short_axes import assign, set_all
from mlirad.runtime.memory.values import Values, part


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
            array.forget()
        return True


_NO_BACKLOG, _ALL = Backlog(), slice(None)


class DeferredWrites(LaterWrites):
    """Deferred writes to an array, no two of them to one row; until they are done, memory
    holds anything there. Whoever reads elements, or writes to them, calls one of these before."""

    __slots__ = (
        "_backlog",
        "_copies",
        "_firsts",
        "_have_rows",
        "_home",
        "_memory",
        "_room",
        "_whole",
        "_writes",
        "is_lent",
    )

    def __init__(self, memory: Values, room: Room | None) -> None:
        self._memory, self._room = memory, room
        # whether zeros may be written to some rows: pieces of memory
        self._have_rows = memory.flags.c_contiguous
        if room is not None:
            room.members.append(self)
        self._whole = tuple((0, extent - 1) for extent in memory.shape)
        self._writes, self._firsts = list[Write](), list[int]()  # in the order of rows; their first
        self._copies: Copies | None = None  # if they are all of the writes
        self._backlog = _NO_BACKLOG
        self._home: tuple[Values, list[Write]] | None = None  # of an array that moved
        self.is_lent = False  # to somebody who looks at any time

    def __bool__(self) -> bool:
        """Return whether there are any writes."""
        return bool(self._writes)

    @property
    def are_possible(self) -> bool:
        """Return whether there may ever be any writes."""
        return self._memory.ndim > 0 and self._memory.nbytes >= LEAST and not self.is_lent

    @property
    def are_zeros(self) -> bool:
        """Return whether zeros are to be written to all elements."""
        (write,) = self._writes if len(self._writes) == 1 else (None,)
        return write is not None and write.copy is None and write.box == self._whole

    # Defer.

    def clear(self, backlog: Backlog) -> bool:
        """Defer zeros for all elements; whether they are deferred."""
        if not self.are_possible:
            return False
        with backlog.lock:
            self._backlog = backlog
            self._replace([Write(self._whole, None)])
        return True

    def put_back(self, copies: Mapping[KnownBox, Values | None], backlog: Backlog) -> bool:
        """Defer writes of copies to boxes; whether they are deferred."""
        with backlog.lock:
            writes = {write.box: write for write in self._writes}
            writes |= {
                box: Write(box, copy) for box, copy in copies.items() if copy is None or copy.size
            }
            ordered = sorted(writes.values())
            if (
                not self.are_possible
                or any(write.copy is None for write in ordered)
                or any(earlier.last >= later.first for earlier, later in pairwise(ordered))
            ):
                return False
            self._backlog = backlog
            self._replace(ordered)
        return True

    def put_back_again(self, copies: Copies, backlog: Backlog) -> bool:
        """Defer writes of copies that were deferred before; whether they are deferred."""
        with backlog.lock:
            if not self.are_possible or not copies.include(self._writes):
                return False
            self._backlog = backlog
            self._writes, self._firsts = [*copies.writes], [*copies.firsts]
            self._copies = copies
            backlog.arrays.add(self)
        return True

    def copies(self) -> Copies | None:
        """The copies whose writes are deferred; None if there are none."""
        if not self._writes:
            return None
        if self._copies is None:
            self._copies = Copies([write for write in self._writes if write.copy is not None])
        return self._copies if self._copies.writes else None

    # Do them.

    def finish(self, rows: Sequence[Ends] | None = None) -> None:
        """Do all of them, or those to some rows: the first and the last of each range."""
        if self._writes:
            with self._backlog.lock:
                for first, last in self._whole[:1] if rows is None else rows:
                    if first <= last and (writes := self._writes[span := self._span(first, last)]):
                        self._finish_rows(first, last, span, writes)

    def release_copies(self) -> None:
        """Do those of copies."""
        if any(write.copy is not None for write in self._writes):
            self.finish()

    def _finish_rows(self, first: int, last: int, span: slice, writes: Sequence[Write]) -> None:
        room = None if self._have_rows else self._room
        if room is None or not self.are_zeros or not room.clear():
            left = [piece for write in writes for piece in self._finish(write, first, last)]
            self._replace(left, span)  # behind the writes: others look whether there are any

    def _finish(self, write: Write, first: int, last: int) -> list[Write]:
        """Do a write, of zeros those to some rows; what is left of it."""
        if write.copy is not None:
            assign(part(self._memory, write.box), write.copy)
            return []
        if not self._have_rows:
            first, last = self._whole[0]
        set_all(self._memory[max(write.first, first) : min(write.last, last) + 1], 0)
        return write.outside(first, last)

    # Do without them.

    def drop(self) -> None:
        """Forget all of them: all elements were set."""
        if self._writes:
            with self._backlog.lock:
                self.forget()

    def forget(self) -> None:
        """Forget all writes; the caller holds the lock."""
        self._replace([])

    def drop_box(self, box: Box) -> None:
        """Forget those to elements of a box, all of which are about to be set."""
        if self._drop_copy(box):
            return
        bounds = within_shape(box, self._memory.shape)
        if len(box) != len(bounds):
            return
        for low, high in bounds:
            if low > high:
                return
        with self._backlog.lock:
            rows = self._span(*bounds[0])
            if writes := self._writes[rows]:
                left = [piece for write in writes for piece in self._outside(write, bounds)]
                self._replace(left, rows)

    def _drop_copy(self, box: Box) -> bool:
        """Forget the write of a copy to just this box; whether there was one."""
        first = box[0][0] if box else None
        if first is None:
            return False
        with self._backlog.lock:
            place = bisect_right(self._firsts, first) - 1
            if place < 0 or self._writes[place].copy is None or self._writes[place].box != box:
                return False
            del self._firsts[place], self._writes[place]
            self._copies = None
            if not self._writes:
                self._backlog.arrays.discard(self)
        return True

    def _outside(self, write: Write, box: KnownBox) -> list[Write]:
        if lies_in(write.box, box):
            return []
        is_of_rows = self._have_rows and write.copy is None and lies_in(write.box[1:], box[1:])
        return write.outside(*box[0]) if is_of_rows else [write]

    def drop_zeros(self, rows: Ends | None = None) -> bool:
        first, last = self._whole[0] if rows is None else rows
        with self._backlog.lock:
            span = self._span(first, last)
            (write,) = writes if len(writes := self._writes[span]) == 1 else (None,)
            are_zeros = (
                write is not None
                and write.copy is None
                and write.first <= first <= last <= write.last
                and (rows is None or self._have_rows)
            )
            if write is not None and are_zeros:
                self._replace(write.outside(first, last), span)
        if rows is None:
            self.finish()
        return are_zeros

    def move(self, memory: Values | None) -> Values | None:
        """Lie in other memory, or where the array did at first (None), with the writes that were
        deferred there; that memory. None where it stays: somebody looks at it at any time, copies
        are to be put back, or it is there."""
        if memory is None:
            if self._home is None:
                return None
            (memory, writes), self._home = self._home, None
        elif self.is_lent or any(write.copy is not None for write in self._writes):
            return None
        else:
            writes = []
            if self._home is None:
                self._home = self._memory, self._writes[:]
            else:
                self.finish()
        with self._backlog.lock:
            self._memory = memory
            self._replace(writes)
        return memory

    @property
    def are_elsewhere(self) -> bool:
        """Return whether the array has moved."""
        return self._home is not None

    def _replace(self, writes: list[Write], rows: slice = _ALL) -> None:
        """Have others instead of some; be in the backlog while there are any."""
        if writes or self._writes[rows]:
            self._copies = None
            self._firsts[rows] = [write.first for write in writes]
            self._writes[rows] = writes
            if self._writes:
                self._backlog.arrays.add(self)
            else:
                self._backlog.arrays.discard(self)

    def _span(self, first: int, last: int) -> slice:
        """Return the writes that have some of a range of rows."""
        start = bisect_right(self._firsts, first) - 1
        if start < 0 or self._writes[start].last < first:
            start += 1
        return slice(start, bisect_right(self._firsts, last))
