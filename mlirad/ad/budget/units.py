"""The memory of a program as units: boxes of arrays of which no two share an element, taken apart
further where a launch touches a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from mlirad.ad.recording.versions import Key
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements

LAUNCH = 4096.0  # what a launch costs besides what it touches, in bytes
MANY = 64  # parts of an array, from where on a write of Python's makes no more
Span = tuple[tuple[int, int], ...]  # first and last index an axis, both known


def span_of(elements: Elements, box: Box) -> Span | None:
    """The elements of a box that there are; None where it has none."""
    shape = elements.shape
    if len(box) != len(shape):
        box = ((None, None),) * len(shape)
    span = tuple(
        [
            (max(0, low or 0), extent - 1 if high is None else min(high, extent - 1))
            for (low, high), extent in zip(box, shape)
        ]
    )
    return None if any(high < low for low, high in span) else span


def size_of(elements: Elements, span: Span, tangents: int = 0) -> int:
    """The bytes of a span, with so many tangents of floats beside it."""
    beside = tangents if elements.dtype.kind == "f" else 0
    return elements.dtype.itemsize * prod(high - low + 1 for low, high in span) * (1 + beside)


class Parts:
    """The units of one array."""

    def __init__(self, key: Key, elements: Elements) -> None:
        self.key, self.elements = key, elements
        self.spans: dict[Span, int] = {}
        self.known: dict[Box, tuple[int, ...]] = {}
        self.hull: Span | None = None
        self.is_covered = False  # every element is in a unit
        self.latest: Span | None = None  # in which something lay


class Units:
    """The units of all arrays; `unit` makes one, of so many bytes, and `split` takes one apart."""

    def __init__(
        self,
        unit: Callable[[int], int],
        split: Callable[[int, Sequence[int], Callable[[Sequence[int]], None]], list[int]],
        tangents: int = 0,
    ) -> None:
        self._unit, self._split, self._tangents = unit, split, tangents
        self.arrays: dict[Key, Parts] = {}
        self.places: dict[int, tuple[Parts, Span]] = {}
        self.taken_apart = 0  # units

    def cost(self, units: Iterable[int]) -> float:
        """Of a launch that touches units."""
        places = [self.places[unit] for unit in units]
        return LAUNCH + sum(self._size(parts, span) for parts, span in places)

    def of(self, key: Key, elements: Elements, box: Box) -> tuple[int, ...]:
        """The units that a box is made of."""
        parts = self.arrays.get(key)
        if parts is None:
            parts = self.arrays[key] = Parts(key, elements)
        found = parts.known.get(box)
        if found is None:
            span = span_of(elements, box)
            found = () if span is None else tuple(self._find(parts, span))
            parts.known[box] = found
        return found

    def around(
        self, key: Key, elements: Elements, box: Box
    ) -> tuple[tuple[int, ...], frozenset[int]]:
        """The units that a box is made of, or, of an array in many parts, those that it touches;
        and of which of these it is not all."""
        parts, span = self.arrays.get(key), span_of(elements, box)
        if parts is None or span is None or len(parts.spans) < MANY or span in parts.spans:
            return self.of(key, elements, box), frozenset()
        latest = parts.latest
        if latest in parts.spans and _common(latest, span) == span:
            return (parts.spans[latest],), frozenset([parts.spans[latest]])
        if not parts.is_covered:
            self._find(parts, tuple((0, extent - 1) for extent in elements.shape))
            parts.is_covered = True
        found = {unit: own for own, unit in parts.spans.items() if _meet(own, span)}
        parts.latest = next(iter(found.values()))
        return tuple(found), frozenset(u for u, own in found.items() if _common(own, span) != own)

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
        unit = self._unit(self._size(parts, span))
        self._place(parts, span, unit)
        return unit

    def _size(self, parts: Parts, span: Span) -> int:
        return size_of(parts.elements, span, self._tangents)

    def _place(self, parts: Parts, span: Span, unit: int) -> None:
        parts.spans[span] = unit
        self.places[unit] = parts, span
        hull = parts.hull or span
        parts.hull = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in zip(hull, span)])

    def _take_out(self, parts: Parts, own: Span, inner: Span) -> int:
        """Take a unit apart, so that a part of it is one; which it is."""
        old = parts.spans.pop(own)
        self.taken_apart += 1
        spans = [inner, *_without(own, inner)]

        def place(units: Sequence[int]) -> None:
            for span, unit in zip(spans, units):
                self._place(parts, span, unit)

        new = self._split(old, [self._size(parts, span) for span in spans], place)
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
