"""Writes that are still to be done to an array, as a value."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from mlirad.runtime.boxes import Box, KnownBox, lies_in, within_shape

Ends = tuple[int, int]  # the first and the last row of a range


class Write(NamedTuple):
    """A write to a box: of a copy, or else of zeros."""

    box: KnownBox
    is_copy: bool

    @property
    def first(self) -> int:
        """The first row; a row is all elements with one first index."""
        return self.box[0][0]

    @property
    def last(self) -> int:
        """The last row."""
        return self.box[0][1]

    def inside(self, first: int, last: int) -> Write:
        """Return the part of zeros that is in some rows."""
        return Write(((max(self.first, first), min(self.last, last)), *self.box[1:]), False)

    def followed_by(self, other: Write) -> Write | None:
        """Return both as one write, of zeros to rows behind one another; None where they are not
        one."""
        if self.is_copy or other.is_copy or self.box[1:] != other.box[1:]:
            return None
        if self.last + 1 != other.first:
            return None
        return Write(((self.first, other.last), *self.box[1:]), False)

    def outside(self, first: int, last: int) -> list[Write]:
        """Return the parts of zeros that are outside of some rows."""
        ends = ((self.first, min(self.last, first - 1)), (max(self.first, last + 1), self.last))
        return [Write((rows, *self.box[1:]), False) for rows in ends if rows[0] <= rows[1]]


class Pending:
    """Writes in the order of rows, no two of them to one row; `NOTHING` if there are none.

    They never change: what a launch leaves of them is another value, which shares them where it is
    all but the first, or the last.
    """

    __slots__ = ("_all", "_begin", "_end", "_firsts")

    def __init__(self, writes: Sequence[Write]) -> None:
        self._all, self._firsts = tuple(writes), [write.first for write in writes]
        self._begin, self._end = 0, len(writes)

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def writes(self) -> tuple[Write, ...]:
        """The writes."""
        return self._all[self._begin : self._end]

    def are_zeros(self, box: KnownBox) -> bool:
        """Return whether this is one write, of zeros to a box."""
        return len(self) == 1 and self._all[self._begin] == (box, False)

    def among(self, first: int, last: int) -> slice:
        """Return the writes that have some of a range of rows."""
        start = bisect_right(self._firsts, first, self._begin, self._end) - 1
        if start < self._begin or self._all[start].last < first:
            start += 1
        return slice(start, bisect_right(self._firsts, last, start, self._end))

    def at(self, span: slice) -> tuple[Write, ...]:
        """Return the writes of a span."""
        return self._all[span]

    def replace(self, span: slice, writes: Sequence[Write]) -> Pending:
        """Return these with others instead of some."""
        if self._all[span] == tuple(writes):
            return self
        if len(self) == span.stop - span.start and not writes:
            return NOTHING
        if not writes and span.start == self._begin:
            return self._between(span.stop, self._end)
        if not writes and span.stop == self._end:
            return self._between(self._begin, span.start)
        before, after = self._all[self._begin : span.start], self._all[span.stop : self._end]
        return Pending([*before, *writes, *after])

    def _between(self, begin: int, end: int) -> Pending:
        pending = Pending.__new__(Pending)
        pending._all, pending._firsts = self._all, self._firsts
        pending._begin, pending._end = begin, end
        return pending

    def with_zeros(self, box: KnownBox) -> Pending | None:
        """Return these and zeros for a box; None if there are writes to its rows."""
        write = Write(box, False)
        span = self.among(write.first, write.last)
        if span.start < span.stop:
            return None
        start, stop = span.start, span.stop
        if start > self._begin and (joined := self._all[start - 1].followed_by(write)) is not None:
            write, start = joined, start - 1
        if stop < self._end and (joined := write.followed_by(self._all[stop])) is not None:
            write, stop = joined, stop + 1
        return self.replace(slice(start, stop), [write])

    def without_box(self, box: Box, shape: Sequence[int], *, in_rows: bool) -> Pending:
        """Return what is left if a box is set; of zeros some rows may be left if those are written
        `in_rows`."""
        bounds = within_shape(box, shape)
        if len(box) != len(bounds) or any(low > high for low, high in bounds):
            return self
        span = self.among(*bounds[0])
        return self.replace(span, [p for w in self.at(span) for p in _outside(w, bounds, in_rows)])


def _outside(write: Write, box: KnownBox, in_rows: bool) -> list[Write]:
    if lies_in(write.box, box):
        return []
    is_of_rows = in_rows and not write.is_copy and lies_in(write.box[1:], box[1:])
    return write.outside(*box[0]) if is_of_rows else [write]


NOTHING = Pending([])
