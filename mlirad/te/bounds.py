"""Indices that are out of bounds, as far as is known before a call."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.errors import TaichiIndexError
from mlirad.te.expressions import Axis, Call, Expr, Number, Read, Reduction, Select
from mlirad.te.tensor import shown_extent

Interval = tuple[int, int]  # first and last


def check_reads(body: Expr) -> None:
    """Raise TaichiIndexError where a read is out of bounds: at any indices; under a condition, at
    all."""
    _Check().visit(body, False)


class _Check:
    def __init__(self) -> None:
        self._seen: set[tuple[Expr, bool]] = set()

    def visit(self, one: Expr, is_guarded: bool) -> None:
        """Look at an expression, and what it is made of."""
        if (one, is_guarded) in self._seen:
            return
        self._seen.add((one, is_guarded))
        if isinstance(one, Read):
            self._read(one, is_guarded)
        inner = is_guarded
        if isinstance(one, Select):
            self.visit(one.condition, is_guarded)
            for part in (one.then, one.otherwise):
                self.visit(part, True)
            return
        if isinstance(one, Reduction) and one.where is not None:
            self.visit(one.where, is_guarded)
            inner = True
        for part in one.parts:
            if part is not getattr(one, "where", None):
                self.visit(part, inner)

    def _read(self, one: Read, is_guarded: bool) -> None:
        for axis, (index, extent) in enumerate(zip(one.indices, one.tensor.shape)):
            found = interval(index)
            if found is None or found[1] < found[0]:
                continue
            low, high = found
            length = extent if isinstance(extent, int) else None
            never = high < 0 or (length is not None and low >= length)
            beyond = low < 0 or (length is not None and high >= length)
            if never or (beyond and not is_guarded):
                raise TaichiIndexError(
                    f"index {axis} of tensor '{one.tensor.name}' goes from {low} to {high}, and "
                    f"its extent is {shown_extent(extent)}: a te.select around the read says "
                    "where it is not read",
                    one.place,
                )


def interval(one: Expr) -> Interval | None:
    """The least and the greatest value of an integer; None where they are not known."""
    if isinstance(one, Number):
        return int(one.value), int(one.value)
    if isinstance(one, Axis):
        return (0, one.extent - 1) if isinstance(one.extent, int) else None
    if not isinstance(one, Call) or one.name not in _CALLS:
        return None
    known = [found for part in one.arguments if (found := interval(part)) is not None]
    return _CALLS[one.name](*known) if len(known) == len(one.arguments) else None


def _product(left: Interval, right: Interval) -> Interval:
    ends = [a * c for a in left for c in right]
    return min(ends), max(ends)


def _quotient(left: Interval, right: Interval) -> Interval | None:
    if right[0] != right[1] or right[0] == 0:
        return None
    ends = [end // right[0] for end in left]
    return min(ends), max(ends)


def _rest(left: Interval, right: Interval) -> Interval | None:
    if right[0] != right[1] or right[0] <= 0:
        return None
    if left[0] // right[0] == left[1] // right[0]:
        return left[0] % right[0], left[1] % right[0]
    return 0, right[0] - 1


_CALLS: dict[str, Callable[..., Interval | None]] = {
    "add": lambda a, c: (a[0] + c[0], a[1] + c[1]),
    "sub": lambda a, c: (a[0] - c[1], a[1] - c[0]),
    "mul": _product,
    "floordiv": _quotient,
    "mod": _rest,
    "min": lambda a, c: (min(a[0], c[0]), min(a[1], c[1])),
    "max": lambda a, c: (max(a[0], c[0]), max(a[1], c[1])),
}
