"""The memory of a program as units: boxes of arrays of which no two share an element, taken apart
further where a launch touches a part of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from mlirad.ad.tape.versions import Key
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements

Span = tuple[tuple[int, int], ...]  # first and last index an axis, both known


class Parts:
    """The units of one array."""

    def __init__(self, key: Key, elements: Elements) -> None:
        self.key, self.elements = key, elements
        self.spans: dict[Span, int] = {}
        self.known: dict[Box, tuple[int, ...]] = {}
        self.hull: Span | None = None

    def size(self, span: Span) -> int:
        """The bytes of a span."""
        return self.elements.dtype.itemsize * prod(high - low + 1 for low, high in span)

    def span_of(self, box: Box) -> Span | None:
        """The elements of a box that there are; None where it has none."""
        shape = self.elements.shape
        if len(box) != len(shape):
            box = ((None, None),) * len(shape)
        span = tuple(
            [
                (max(0, low or 0), extent - 1 if high is None else min(high, extent - 1))
                for (low, high), extent in zip(box, shape)
            ]
        )
        return None if any(high < low for low, high in span) else span


class Units:
    """The units of all arrays; `unit` makes one, of so many bytes, and `split` takes one apart."""

    def __init__(
        self,
        unit: Callable[[int], int],
        split: Callable[[int, Sequence[int], Callable[[Sequence[int]], None]], list[int]],
    ) -> None:
        self._unit, self._split = unit, split
        self.arrays: dict[Key, Parts] = {}
        self.places: dict[int, tuple[Parts, Span]] = {}

    def of(self, key: Key, elements: Elements, box: Box) -> tuple[int, ...]:
        """The units that a box is made of."""
        parts = self.arrays.get(key)
        if parts is None:
            parts = self.arrays[key] = Parts(key, elements)
        found = parts.known.get(box)
        if found is None:
            span = parts.span_of(box)
            found = () if span is None else tuple(self._find(parts, span))
            parts.known[box] = found
        return found

    def _find(self, parts: Parts, span: Span) -> list[int]:
        known = parts.spans.get(span)
        if known is not None:
            return [known]
        found: list[int] = []
        rest = [span]
        if parts.hull is not None and _meet(parts.hull, span):
            for own, unit in [(s, u) for s, u in parts.spans.items() if _meet(s, span)]:
                inner = _common(own, span)
                found.append(unit if inner == own else self._take_out(parts, own, inner))
                rest = [piece for one in rest for piece in _without(one, own)]
        return found + [self._add(parts, piece) for piece in rest]

    def _add(self, parts: Parts, span: Span) -> int:
        unit = self._unit(parts.size(span))
        self._place(parts, span, unit)
        return unit

    def _place(self, parts: Parts, span: Span, unit: int) -> None:
        parts.spans[span] = unit
        self.places[unit] = parts, span
        hull = parts.hull or span
        parts.hull = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in zip(hull, span)])

    def _take_out(self, parts: Parts, own: Span, inner: Span) -> int:
        """Take a unit apart, so that a part of it is one; which it is."""
        old = parts.spans.pop(own)
        spans = [inner, *_without(own, inner)]

        def place(units: Sequence[int]) -> None:
            for span, unit in zip(spans, units):
                self._place(parts, span, unit)

        new = self._split(old, [parts.size(span) for span in spans], place)
        for box, units in parts.known.items():
            if old in units:
                parts.known[box] = tuple(
                    [one for u in units for one in (new if u == old else (u,))]
                )
        return new[0]


def _meet(left: Span, right: Span) -> bool:
    return all(a <= d and c <= b for (a, b), (c, d) in zip(left, right))


def _common(left: Span, right: Span) -> Span:
    return tuple([(max(a, c), min(b, d)) for (a, b), (c, d) in zip(left, right)])


def _without(own: Span, other: Span) -> list[Span]:
    """What is left of a span without another, as spans that share nothing."""
    if not _meet(own, other):
        return [own]
    found: list[Span] = []
    for axis, ((low, high), (first, last)) in enumerate(zip(own, other)):
        if low < first:
            found.append((*own[:axis], (low, first - 1), *own[axis + 1 :]))
        if last < high:
            found.append((*own[:axis], (last + 1, high), *own[axis + 1 :]))
        own = (*own[:axis], (max(low, first), min(high, last)), *own[axis + 1 :])
    return found
