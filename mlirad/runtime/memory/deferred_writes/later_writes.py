"""Arrays that have deferred writes, wherever they lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock

from mlirad.dialect.turn import free_in_forks
from mlirad.ir.memory.large_arrays import LEAST
from mlirad.runtime.boxes import Box, KnownBox, lies_in
from mlirad.runtime.memory.deferred_writes.copies import Copies
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Ends, Pending, Write


class Backlog:
    """The arrays of a program that have deferred writes: a set that launches look at, empty most of
    the time. `lock` is held while writes are deferred, and while they are done. It also counts what
    else launches look at, moves."""

    def __init__(self) -> None:
        self.arrays: set[LaterWrites] = set()
        self.moves = 0  # of fields; launches that begin later find them where they are
        self.lock = free_in_forks(Lock())

    def release_copies(self) -> None:
        """Do the writes of copies, whose memory is given back."""
        for array in list(self.arrays):
            array.release_copies()


_NO_BACKLOG = Backlog()


class LaterWrites(ABC):
    """Deferred writes to one array; until they are done, memory holds anything there. Whoever reads
    elements, or writes to them, calls one of these before.

    Zeros are written to some rows only where an array is written `in_rows`.
    """

    __slots__ = ("_backlog", "_bytes", "_shape", "_whole", "_zeros", "in_rows", "pending")

    def __init__(self, shape: Sequence[int], size: int, *, in_rows: bool) -> None:
        self._shape, self._bytes, self.in_rows = tuple(shape), size, in_rows
        self._whole: KnownBox = tuple([(0, extent - 1) for extent in shape])
        self._zeros = Pending([Write(self._whole, False)]) if shape else NOTHING
        self._backlog, self.pending = _NO_BACKLOG, NOTHING

    def __bool__(self) -> bool:
        """Return whether there are deferred writes."""
        return self.pending is not NOTHING

    @property
    def are_possible(self) -> bool:
        """Return whether there may ever be deferred writes."""
        return bool(self._shape) and self._bytes >= LEAST

    # Defer.

    def clear(self, backlog: Backlog) -> bool:
        """Defer zeros for all elements; whether they are deferred."""
        if not self.are_possible:
            return False
        with backlog.lock:
            self._backlog = backlog
            self.become(self._zeros)
        return True

    def copies(self) -> Copies | None:
        """Return the copies that are still to be put back; None if there are none."""
        return None

    def put_back_again(self, copies: Copies, backlog: Backlog) -> bool:
        """Defer writes of copies that were deferred before; whether they are deferred."""
        return False

    def become(self, pending: Pending) -> None:
        """Have others from now on; the caller holds the lock."""
        self.pending = pending
        if pending is NOTHING:
            self._backlog.arrays.discard(self)
        else:
            self._backlog.arrays.add(self)

    def defer_zeros(
        self, backlog: Backlog, box: KnownBox, expected: Pending, with_zeros: Pending | None
    ) -> None:
        """Defer zeros for a box, where a launch found what was `expected`; write them where that is
        not possible (None), or if others have written meanwhile."""
        with backlog.lock:
            if with_zeros is not None and self.pending is expected and self.are_possible:
                self._backlog = backlog
                self.become(with_zeros)
            else:
                self._set_to_zero(box)

    # Do them.

    def finish(self, rows: Sequence[Ends] | None = None) -> None:
        """Do all of them, or those to some rows: the first and the last of each range."""
        if self.pending is not NOTHING:
            with self._backlog.lock:
                self.do(*self.due(self.pending, rows))

    def due(self, pending: Pending, rows: Sequence[Ends] | None) -> tuple[Sequence[Write], Pending]:
        """Return what is to be done before some rows, or (None) all, are used, and what is left."""
        due = list[Write]()
        for first, last in self._whole[:1] if rows is None else rows:
            if pending is NOTHING or first > last:
                continue
            span, left = pending.among(first, last), list[Write]()
            for write in pending.at(span):
                if write.is_copy or not self.in_rows:
                    due.append(write)
                else:
                    due.append(write.inside(first, last))
                    left += write.outside(first, last)
            pending = pending.replace(span, left)
        return due, pending

    def do(self, due: Sequence[Write], left: Pending) -> None:
        """Do writes; the caller holds the lock. Others look whether there are any, so they are done
        first."""
        for write in due:
            self._do(write)
        if left is not self.pending:
            self.become(left)

    @abstractmethod
    def _do(self, write: Write) -> None:
        """Do a write of a copy, or of zeros to some rows."""

    @abstractmethod
    def _set_to_zero(self, box: KnownBox) -> None:
        """Write zeros to a box, to which no writes are deferred."""

    @abstractmethod
    def release_copies(self) -> None:
        """Do those of copies."""

    # Do without them.

    def drop(self) -> None:
        """Forget all of them: all elements were set."""
        if self.pending is not NOTHING:
            with self._backlog.lock:
                self.become(NOTHING)

    def without_box(self, pending: Pending, box: Box) -> Pending:
        """Return what is left if all elements of a box are set."""
        return pending.without_box(box, self._shape, in_rows=self.in_rows)

    def with_zeros(self, pending: Pending, box: KnownBox) -> Pending | None:
        """Return what there is if zeros for a box are deferred too; None where they cannot be."""
        if (
            not self.in_rows
            or not lies_in(box, self._whole)
            or any(low > high for low, high in box)
        ):
            return None
        zeros = pending.with_zeros(box)
        return self._zeros if zeros is not None and zeros.are_zeros(self._whole) else zeros

    def without_zeros(self, pending: Pending, box: KnownBox | None) -> Pending | None:
        """Return what is left if what is added to all elements, or to those of a box of its first
        axes, is added to nothing; None where not all of these were to be set to 0."""
        axes = self._whole if box is None else (*box, *self._whole[len(box) :])
        first, last = axes[0]
        span = pending.among(first, last)
        (write,) = writes if len(writes := pending.at(span)) == 1 else (None,)
        if (
            write is None
            or write.is_copy
            or write.box[1:] != axes[1:]
            or not write.first <= first <= last <= write.last
            or not (box is None or self.in_rows)
        ):
            return None
        return pending.replace(span, write.outside(first, last))
