"""Memory that was to be cleared, and is when something uses it."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock


class Clearing:
    """What elements of a program wait with: `version` grows whenever more of them do, so that
    launches look only when they have to."""

    def __init__(self) -> None:
        self.version = 0
        self.lock = Lock()


class WaitingRows:
    """Which rows wait, of elements of which others do not."""

    def __init__(self, count: int) -> None:
        self._waits = bytearray(b"\1") * count

    def take(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Those of a range that wait and no longer will: the first of each run of them, and how
        many it has."""
        waits, end = self._waits, min(last + 1, len(self._waits))
        start = waits.find(1, max(first, 0), end)
        while start >= 0:
            behind = waits.find(0, start, end)
            count = (end if behind < 0 else behind) - start
            yield start, count
            waits[start : start + count] = bytes(count)
            start = waits.find(1, start + count, end)

    def __bool__(self) -> bool:
        """Whether one waits."""
        return 1 in self._waits
