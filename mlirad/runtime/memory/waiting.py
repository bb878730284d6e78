"""Memory that was to be cleared, or put back, and is when something uses it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from threading import Lock
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.boxes import Box, KnownBox, lies_in
from mlirad.runtime.memory.values import Values

Copy = TypeVar("Copy")
_FEW = 16  # rows that are looked at one by one


class KeptValues(Protocol):
    """A copy of elements."""

    @property
    def values(self) -> Values | None:
        """It, where Python may look at it."""

    def restore(self) -> None:
        """Let memory hold it."""


class Clearing:
    """What elements of a program wait with: `version` grows whenever more of them do, or some move
    (`moves` then, too), so that launches look only when they have to."""

    def __init__(self) -> None:
        self.version = self.moves = 0
        self.lock = free_in_forks(Lock())
        self.put_back_later = WeakSet[Waiting]()  # of which copies are held

    def count_move(self) -> None:
        """Some elements have moved."""
        with self.lock:
            self.moves += 1
            self.version += 1

    def settle(self) -> None:
        """Put back now what waits for it, which gives back the copies."""
        for waiting in list(self.put_back_later):
            waiting.use()
        self.put_back_later.clear()


class Waiting:
    """What of some elements waits, to be cleared or to be put back: nothing, where a machine does
    either at once. Whatever is asked of elements or of their copies uses them; for launches, one of
    these is called before."""

    __slots__ = ("__weakref__",)

    @property
    def is_any(self) -> bool:
        """Whether some elements wait."""
        return False

    def use(self, rows: Iterable[tuple[int, int]] | None = None) -> bool:
        """Let nothing wait, or nothing of some rows: all elements with some first indices, from the
        first to the last. Whether others wait."""
        return False

    def begin(self, box: Box) -> None:
        """All elements of a box are about to be set: it need not wait any more."""

    def begin_anew(self, box: Box) -> bool:
        """All elements of a box are about to be set, to what is added to 0 where they wait to be
        cleared; whether they all did."""
        return False

    def clear_later(self, box: Box, clearing: Clearing) -> bool:
        """Let the elements of a box wait to be cleared, whatever they hold; whether they do."""
        return False

    def put_back(self, copies: Sequence[tuple[Box, KeptValues]], clearing: Clearing) -> None:
        """Hold again what copies of boxes hold, of several that have an element the first: now, or
        when elements are used."""
        for _, kept in reversed(copies):
            kept.restore()

    def copy_of(self, box: Box) -> Values | None:
        """A copy of a box that waits to be put back, and goes on doing so, where there is one."""
        return None


class WaitingRows:
    """Which rows wait, of elements of which others do not: as a whole, or a box of each."""

    _MOST_PARTS = 64

    def __init__(self, count: int, *, do_wait: bool) -> None:
        # of each row, the number of what waits of it, from 1 on; 0: nothing
        self._waits, self._left = bytearray([do_wait]) * count, count * do_wait
        self._parts: list[KnownBox | None] = [None]

    def take(self, first: int, last: int) -> Sequence[tuple[int, int, KnownBox | None]]:
        """Those of a range that wait and no longer will: the first of each run of them, how many it
        has, and the box that waits of each, along the other axes; None where all of it does."""
        start, end = max(first, 0), min(last + 1, len(self._waits))
        is_any = self._left and (end - start > _FEW or any(self._waits[start:end]))
        return list(self._runs(start, end)) if is_any else ()

    def take_just(self, first: int, last: int, box: KnownBox | None) -> bool:
        """Let a row, of which just a box waits, no longer wait; whether it did."""
        kind = self._waits[first]
        if first != last or not kind or self._parts[kind - 1] != box:
            return False
        self._waits[first] = 0
        self._left -= 1
        return True

    def _runs(self, start: int, end: int) -> Iterator[tuple[int, int, KnownBox | None]]:
        while start < end:
            kind, behind = self._waits[start], self._end_of_run(start, end)
            if kind:
                self._waits[start:behind] = bytes(behind - start)
                self._left -= behind - start
                yield start, behind - start, self._parts[kind - 1]
            start = behind

    def _end_of_run(self, start: int, end: int) -> int:
        """The first row behind one of which something else waits."""
        waits, kind = self._waits, self._waits[start]
        others = (number for number in range(len(self._parts) + 1) if number != kind)
        ends = [waits.find(other, start, end) for other in others]
        return min((one for one in ends if one >= 0), default=end)

    def hold(self, first: int, last: int, box: KnownBox | None) -> bool:
        """Whether of all rows of a range at least a box waits."""
        kinds = set(self._waits[first : last + 1])
        return all(kind and _has(self._parts[kind - 1], box) for kind in kinds)

    def add(self, first: int, last: int, box: KnownBox | None) -> bool:
        """Let at least a box of the rows of a range wait; whether they do: not, where something
        else waits of some."""
        number = self._number(box)
        for row in range(first, last + 1):
            kind = self._waits[row]
            if number and (not kind or _has(box, self._parts[kind - 1])):
                self._waits[row] = number
                self._left += not kind
            elif not kind or not _has(self._parts[kind - 1], box):
                return False
        return True

    def _number(self, box: KnownBox | None) -> int:
        """That of a box of a row; 0 where there are too many."""
        if box not in self._parts:
            if len(self._parts) == self._MOST_PARTS:
                return 0
            self._parts.append(box)
        return self._parts.index(box) + 1

    def __bool__(self) -> bool:
        """Whether one waits."""
        return self._left > 0


def _has(outer: KnownBox | None, inner: KnownBox | None) -> bool:
    """Whether what waits of a row has all of something else."""
    return outer is None or (inner is not None and lies_in(inner, outer))


class WaitingCopies(Generic[Copy]):
    """Copies of boxes that elements are to hold again; no two of the boxes have a row in common."""

    def __init__(self, copies: Iterable[tuple[KnownBox, Copy]]) -> None:
        self._from_row = {box[0][0]: (box, copy) for box, copy in copies}
        self._first = sorted(self._from_row)

    @staticmethod
    def are_apart(boxes: Iterable[KnownBox]) -> bool:
        """Whether no two of some boxes have a row in common."""
        rows = sorted(box[0] for box in boxes)
        return all(one[1] < other[0] for one, other in pairwise(rows))

    def __bool__(self) -> bool:
        """Whether one waits."""
        return bool(self._first)

    def __iter__(self) -> Iterator[tuple[KnownBox, Copy]]:
        """The boxes, and their copies."""
        return iter(self._from_row.values())

    def find(self, box: KnownBox) -> Copy | None:
        """The copy of a box, if it waits."""
        own, copy = self._from_row.get(box[0][0], (None, None))
        return copy if own == box else None

    def take(self, first: int, last: int) -> list[tuple[KnownBox, Copy]]:
        """The boxes that have some of a range of rows, and no longer wait, and their copies."""
        return [self._remove(row) for row in self._reaching(first, last)]

    def drop(self, box: KnownBox) -> None:
        """Forget what lies in a box."""
        for row in self._reaching(*box[0]):
            if lies_in(self._from_row[row][0], box):
                self._remove(row)

    def _reaching(self, first: int, last: int) -> list[int]:
        """The first rows of the boxes that have some of a range of rows."""
        start = bisect_right(self._first, first) - 1
        if start < 0 or self._from_row[self._first[start]][0][0][1] < first:
            start += 1
        return self._first[start : bisect_right(self._first, last)]

    def _remove(self, row: int) -> tuple[KnownBox, Copy]:
        del self._first[bisect_left(self._first, row)]
        return self._from_row.pop(row)
