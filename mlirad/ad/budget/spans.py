"""The spans of an array's units, and which of them meet another span, without a look at each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

Span = tuple[tuple[int, int], ...]  # first and last index an axis, both known
Levels = tuple[int, ...]
FEW = 64  # spans, which are looked at one by one


class Spans:
    """Spans, no two of which share an element, and the unit of each.

    Spans of about the same lengths, a power of two an axis, are in one grid, by the cell in which
    they begin. Each cell is as long as they are at most, so a span in the grid that meets another
    begins in a cell that this one meets, or in one before.
    """

    def __init__(self) -> None:
        self._units: dict[Span, int] = {}
        self._grids: dict[Levels, dict[tuple[int, ...], list[Span]]] = {}

    def __len__(self) -> int:
        return len(self._units)

    def __contains__(self, span: object) -> bool:
        return span in self._units

    def __getitem__(self, span: Span) -> int:
        return self._units[span]

    def get(self, span: Span) -> int | None:
        """The unit of a span, or None."""
        return self._units.get(span)

    def add(self, span: Span, unit: int) -> None:
        """Add a span, with its unit, which is newer than the others."""
        self._units[span] = unit
        levels, cell = _place(span)
        self._grids.setdefault(levels, {}).setdefault(cell, []).append(span)

    def pop(self, span: Span) -> int:
        """Remove a span; its unit."""
        levels, cell = _place(span)
        spans = self._grids[levels][cell]
        spans.remove(span)
        if not spans:
            del self._grids[levels][cell]
            if not self._grids[levels]:
                del self._grids[levels]
        return self._units.pop(span)

    def meeting(self, span: Span) -> list[tuple[Span, int]]:
        """The spans that share an element with another, and their units, the oldest first."""
        if len(self._units) <= FEW:
            return [(other, unit) for other, unit in self._units.items() if meet(other, span)]
        by_unit = {self._units[other]: other for other in self._near(span) if meet(other, span)}
        return [(by_unit[unit], unit) for unit in sorted(by_unit)]

    def _near(self, span: Span) -> Iterator[Span]:
        for levels, cells in self._grids.items():
            ranges = [
                range((low >> level) - 1, (high >> level) + 1)
                for (low, high), level in zip(span, levels)
            ]
            if prod(map(len, ranges)) > len(cells):
                for spans in cells.values():
                    yield from spans
            else:
                for cell in product(*ranges):
                    yield from cells.get(cell, ())


def _place(span: Span) -> tuple[Levels, tuple[int, ...]]:
    levels = tuple([(high - low).bit_length() for low, high in span])
    return levels, tuple([low >> level for (low, _), level in zip(span, levels)])


def meet(left: Span, right: Span) -> bool:
    """Return whether two spans share an element."""
    return all(a <= d and c <= b for (a, b), (c, d) in zip(left, right))


def common(left: Span, right: Span) -> Span:
    """Return what two spans share."""
    return tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(left, right)])


def without(span: Span, other: Span) -> list[Span]:
    """Return a span without another, as spans that share nothing."""
    if not meet(span, other):
        return [span]
    pieces: list[Span] = []
    for axis, ((low, high), (first, last)) in enumerate(zip(span, other)):
        if low < first:
            pieces.append((*span[:axis], (low, first - 1), *span[axis + 1 :]))
        if last < high:
            pieces.append((*span[:axis], (last + 1, high), *span[axis + 1 :]))
        span = (*span[:axis], (max(low, first), min(high, last)), *span[axis + 1 :])
    return pieces
