"""The memory of a program as units: boxes of arrays of which no two share an element, taken apart
further where a launch touches a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from mlirad.ad.budget.spans import Span, Spans, common, meet, without
from mlirad.ad.recording.known_states import Key
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements

LAUNCH = 4096.0  # what a launch costs besides what it touches, in bytes
MANY = 64  # parts of an array, from where on a write of Python's makes no more


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


class ArrayUnits:
    """The units of one array."""

    def __init__(self, key: Key, elements: Elements) -> None:
        self.key, self.elements = key, elements
        self.spans = Spans()
        self.by_box: dict[Box, tuple[int, ...]] = {}
        self.boxes: dict[int, list[Box]] = {}  # by unit, those of `by_box` that it is in
        self.hull: Span | None = None
        self.is_covered = False  # every element is in a unit
        self.latest: Span | None = None  # in which something lay

    def note(self, box: Box, units: tuple[int, ...]) -> None:
        """Note the units that a box is made of."""
        self.by_box[box] = units
        for unit in units:
            self.boxes.setdefault(unit, []).append(box)

    def split(self, unit: int, pieces: Sequence[int]) -> None:
        """Put the parts of a unit that has been taken apart into the boxes that it was in."""
        boxes = self.boxes.pop(unit, ())
        for box in boxes:
            units = self.by_box[box]
            at = units.index(unit)
            self.by_box[box] = (*units[:at], *pieces, *units[at + 1 :])
        for piece in pieces if boxes else ():
            self.boxes[piece] = list(boxes)


class Units:
    """The units of all arrays; `unit` makes one, of so many bytes, and `split` takes one apart."""

    def __init__(
        self,
        unit: Callable[[int], int],
        split: Callable[[int, Sequence[int], Callable[[Sequence[int]], None]], list[int]],
        tangents: int = 0,
    ) -> None:
        self._unit, self._split, self._tangents = unit, split, tangents
        self.arrays: dict[Key, ArrayUnits] = {}
        self.places: dict[int, tuple[ArrayUnits, Span]] = {}
        self.taken_apart = 0  # units

    def cost(self, units: Iterable[int]) -> float:
        """Estimate the cost of a launch that touches units."""
        places = [self.places[unit] for unit in units]
        return LAUNCH + sum(self._size(array, span) for array, span in places)

    def of_box(self, key: Key, elements: Elements, box: Box) -> tuple[int, ...]:
        """The units that a box is made of."""
        array = self.arrays.get(key)
        if array is None:
            array = self.arrays[key] = ArrayUnits(key, elements)
        units = array.by_box.get(box)
        if units is None:
            span = span_of(elements, box)
            units = () if span is None else tuple(self._find(array, span))
            array.note(box, units)
        return units

    def around(
        self, key: Key, elements: Elements, box: Box
    ) -> tuple[tuple[int, ...], frozenset[int]]:
        """The units that a box is made of, or, of an array in many parts, those that it touches;
        and of which of these it is not all."""
        array, span = self.arrays.get(key), span_of(elements, box)
        if array is None or span is None or len(array.spans) < MANY or span in array.spans:
            return self.of_box(key, elements, box), frozenset()
        latest = array.latest
        if latest is not None and latest in array.spans and common(latest, span) == span:
            return (array.spans[latest],), frozenset([array.spans[latest]])
        if not array.is_covered:
            self._find(array, tuple((0, extent - 1) for extent in elements.shape))
            array.is_covered = True
        met = array.spans.meeting(span)
        array.latest = met[0][0]
        partial = [unit for place, unit in met if common(place, span) != place]
        return tuple([unit for _, unit in met]), frozenset(partial)

    def _find(self, array: ArrayUnits, span: Span) -> list[int]:
        unit = array.spans.get(span)
        if unit is not None:
            return [unit]
        units: list[int] = []
        uncovered = [span]
        if array.hull is not None and meet(array.hull, span):
            for place, unit in array.spans.meeting(span):
                inner = common(place, span)
                units.append(unit if inner == place else self._take_out(array, place, inner))
                uncovered = [piece for gap in uncovered for piece in without(gap, place)]
        return units + [self._add(array, piece) for piece in uncovered]

    def _add(self, array: ArrayUnits, span: Span) -> int:
        unit = self._unit(self._size(array, span))
        self._place(array, span, unit)
        return unit

    def _size(self, array: ArrayUnits, span: Span) -> int:
        return size_of(array.elements, span, self._tangents)

    def _place(self, array: ArrayUnits, span: Span, unit: int) -> None:
        array.spans.add(span, unit)
        self.places[unit] = array, span
        hull = array.hull or span
        array.hull = tuple([(min(a, c), max(b, d)) for (a, b), (c, d) in zip(hull, span)])

    def _take_out(self, array: ArrayUnits, outer: Span, inner: Span) -> int:
        """Take a unit apart, so that a part of it is one; which it is."""
        old = array.spans.pop(outer)
        self.taken_apart += 1
        spans = [inner, *without(outer, inner)]

        def place(units: Sequence[int]) -> None:
            for span, unit in zip(spans, units):
                self._place(array, span, unit)

        new = self._split(old, [self._size(array, span) for span in spans], place)
        array.split(old, new)
        return new[0]
