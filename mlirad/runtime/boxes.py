"""Boxes of elements, and unions of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Box = tuple[tuple[int | None, int | None], ...]  # first and last index an axis
KnownBox = tuple[tuple[int, int], ...]
WHOLE: Box = ()  # of an array of any rank


def meet(left: Box, right: Box) -> bool:
    """Return whether two boxes of one array may share an element."""
    for (low, high), (first, last) in zip(left, right):
        if (high is not None and first is not None and high < first) or (
            low is not None and last is not None and last < low
        ):
            return False
    return True


def within_shape(box: Box, shape: Sequence[int]) -> KnownBox:
    """The part of a box that is in an array of a shape; all of it where the box has another number
    of axes."""
    if len(box) != len(shape):
        return tuple([(0, extent - 1) for extent in shape])
    ranges = []
    for (low, high), extent in zip(box, shape):
        first = 0 if low is None or low < 0 else low
        ranges.append((first, extent - 1 if high is None or high >= extent else high))
    return tuple(ranges)


class Region:
    """The union of boxes, kept short: boxes that line up along one axis become one, many become
    their hull."""

    LIMIT = 32

    def __init__(self, boxes: Sequence[Box] = ()) -> None:
        self.boxes: list[Box] = [*boxes]

    def add(self, box: Box) -> None:
        if self.boxes and self.boxes[-1] == box:
            return
        boxes, is_joined = self.boxes, True
        while is_joined and boxes:
            boxes, box, is_joined = _join_one(boxes, box)
        self.boxes = [*boxes, box]
        self._shorten()

    def drop(self, box: Box) -> None:
        """Leave out what lies in a box, as far as what is left of each box is a box or two, and
        there are few of them."""
        if any(meet(member, box) for member in self.boxes):
            self.boxes = [piece for member in self.boxes for piece in _subtract(member, box)]
            self._shorten()

    def _shorten(self) -> None:
        if len(self.boxes) > self.LIMIT:
            self.boxes = [hull(self.boxes)]

    def meets(self, box: Box) -> bool:
        """Return whether the union may share an element with a box."""
        return any(meet(member, box) for member in self.boxes)


class CoveredBoxes:
    """Boxes of which every element is covered; of more than `limit`, the first are forgotten."""

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._boxes: list[Box] = []

    def add(self, box: Box) -> None:
        for position in range(len(self._boxes) - 1, -1, -1):
            joined = _join_exactly(self._boxes[position], box)
            if joined is not None:
                self._boxes[position] = joined
                return
        self._boxes = [*self._boxes[1 - self._limit :], box]

    def copy(self) -> CoveredBoxes:
        """Return an equal object, to which boxes may be added."""
        covered = CoveredBoxes(self._limit)
        covered._boxes = [*self._boxes]
        return covered

    def holds(self, box: Box) -> bool:
        """Return whether a box is known to be covered."""
        return any(lies_in(box, member) for member in self._boxes)


def lies_in(inner: Box, outer: Box) -> bool:
    """Return whether a box is known to have no element outside another."""
    for (low, high), (first, last) in zip(inner, outer):
        if (first is not None and (low is None or low < first)) or (
            last is not None and (high is None or high > last)
        ):
            return False
    return True


def _subtract(box: Box, hole: Box) -> list[Box]:
    """Return what a hole leaves of a box, if the hole sticks out along all axes but one."""
    axes = [axis for axis, (span, gap) in enumerate(zip(box, hole)) if not lies_in((span,), (gap,))]
    if len(axes) != 1 or not meet(box, hole):
        return [box] * bool(axes)
    (axis,) = axes
    (low, high), (first, last) = box[axis], hole[axis]
    ends: list[tuple[int | None, int | None]] = []
    if first is not None and (low is None or low < first):
        ends.append((low, first - 1))
    if last is not None and (high is None or high > last):
        ends.append((last + 1, high))
    return [(*box[:axis], end, *box[axis + 1 :]) for end in ends]


def _join_one(boxes: list[Box], box: Box) -> tuple[list[Box], Box, bool]:
    """Join a box with the last of some that it lines up with: the others, the box, and whether
    there was one."""
    for position in range(len(boxes) - 1, -1, -1):
        joined = _join(boxes[position], box)
        if joined is not None:
            separate = [*boxes[:position], *boxes[position + 1 :]]
            return [other for other in separate if not lies_in(other, joined)], joined, True
    return boxes, box, False


def _join(left: Box, right: Box) -> Box | None:
    """The union of two boxes where it is a box."""
    different = [axis for axis, (a, c) in enumerate(zip(left, right)) if a != c]
    if not different:
        return left
    if len(different) > 1:
        return None
    axis = different[0]
    (low, high), (first, last) = left[axis], right[axis]
    if low is None or high is None or first is None or last is None:
        joined: tuple[int | None, int | None] = (None, None)
    elif first > high + 1 or low > last + 1:
        return None
    else:
        joined = (min(low, first), max(high, last))
    return (*left[:axis], joined, *left[axis + 1 :])


def _join_exactly(left: Box, right: Box) -> Box | None:
    """The union of two boxes where it is a box, and known to be one."""
    different = [pair for pair in zip(left, right) if pair[0] != pair[1]]
    if (
        len(different) == 1
        and (None, None) not in left
        and None not in (*different[0][0], *different[0][1])
    ):
        return _join(left, right)
    return right if lies_in(left, right) else left if lies_in(right, left) else None


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds some boxes."""
    axes = [[*zip(*spans)] for spans in zip(*boxes)]
    return tuple([(_outermost(lows, min), _outermost(highs, max)) for lows, highs in axes])


def _outermost(ends: Sequence[int | None], choose: Callable[[Sequence[int]], int]) -> int | None:
    bounds = [end for end in ends if end is not None]
    return choose(bounds) if len(bounds) == len(ends) else None
