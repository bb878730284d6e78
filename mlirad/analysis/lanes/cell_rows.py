"""Rows of elements around the cells of lanes, which are an unknown distance apart.

The rows of updates are those of a whole array: they begin where cells do, and no other rows overlap
them, so a processor passes what a lane stores on to the next lane that loads it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

_LENGTHS = (4, 2)  # elements of a row


class Row(msgspec.Struct, frozen=True):
    """Elements that are accessed together: `length` from `start` on, and those that are used."""

    start: int
    length: int
    used: tuple[int, ...]


def rows_of_loads(offsets: Collection[int]) -> Iterator[Row]:
    """Yield rows of loads at some distances from a cell, of which more than half is used: what is
    between the first and the last may be loaded."""
    waiting, first, last = sorted(set(offsets)), min(offsets), max(offsets)
    while waiting:
        for length in _LENGTHS:
            start = max(first, min(waiting[0], last + 1 - length))
            used = [offset for offset in waiting if offset < start + length]
            if start + length <= last + 1 and len(used) > length // 2:
                yield Row(start, length, tuple(used))
                break
        else:
            used = waiting[:1]
        waiting = waiting[len(used) :]


def rows_of_updates(offsets: Collection[int], unit: int) -> Iterator[Row]:
    """Yield rows of updates at some distances from a cell of so many elements, all of which are
    updated."""
    waiting = set(offsets)
    for length in _LENGTHS:
        for start in sorted(waiting):
            used = range(start, start + length)
            place = start % unit
            if place % length == 0 and place + length <= unit and waiting.issuperset(used):
                waiting.difference_update(used)
                yield Row(start, length, tuple(used))
