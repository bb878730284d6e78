"""Indices that are out of bounds, as far as is known before a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.errors import SourceLocation, TaichiIndexError
from mlirad.te.expressions import Axis, Call, Expr, Number, Read, Reduction, Select, Size
from mlirad.te.size_needs import SizeNeed, SumOfSizes
from mlirad.te.tensor import shown_extent

Interval = tuple[int, int]  # first and last


def check_reads(body: Expr, shape: Sequence[Expr | int] = ()) -> list[SizeNeed]:
    """Raise TaichiIndexError where a read is out of bounds: at any indices; under a condition, at
    all. What sizes have to be for the others, in a definition of some shape, is given."""
    check = _Check(shape)
    check.visit(body, False)
    return check.needs


class _Check:
    def __init__(self, shape: Sequence[Expr | int]) -> None:
        self._seen: set[tuple[Expr, bool]] = set()
        self._shape = shape
        self.needs: list[SizeNeed] = []

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
            ends = _ends(index, extent)
            if ends is not None and not is_guarded:
                text = f"index {axis} of tensor '{one.tensor.name}'"
                self.needs += ends.needs(text, one.place, self._shape)
            if ends is not None and ends.are_beyond_for_every_size(is_guarded):
                raise TaichiIndexError(
                    f"index {axis} of tensor '{one.tensor.name}', of extent "
                    f"{shown_extent(extent)}, is out of bounds for every size",
                    one.place,
                )
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


Form = Linear[Expr]


@dataclass(frozen=True)
class _Ends:
    """The least and the greatest value of an index, the extent that it has to be less than, and
    the extents of the indices that it is made of, as sums of sizes."""

    low: Form
    high: Form
    length: Form
    around: tuple[Form, ...]

    def are_beyond_for_every_size(self, is_guarded: bool) -> bool:
        """Whether the index is out of bounds at some indices; under a condition, at all."""
        first, behind = (self.high, self.low) if is_guarded else (self.low, self.high)
        beyond = behind.plus(self.length, -1).plus(number(1))
        return _is_positive(first.times(-1)) or _is_positive(beyond)

    def needs(
        self, text: str, place: SourceLocation, shape: Sequence[Expr | int]
    ) -> Iterator[SizeNeed]:
        """What sizes have to be for it to be in bounds, as far as not all are."""
        extents = [number(one) if isinstance(one, int) else _form(one) for one in shape]
        around = [*self.around, *(one for one in extents if one is not None)]
        named = tuple(found for one in around if (found := _by_name(one)) is not None)
        left = self.length.plus(self.high, -1).plus(number(-1))
        for least in (self.low, left):
            found = _by_name(least)
            if found is not None and not _is_positive(least.plus(number(1))):
                yield SizeNeed(found, named, text, place)


def _by_name(total: Form) -> SumOfSizes | None:
    """A sum of sizes alone by their names."""
    if not all(isinstance(one, Size) for one in total.names):
        return None
    terms = ((one.name, factor) for one, factor in total.terms if isinstance(one, Size))
    return Linear(frozenset(terms), total.constant)


def _ends(index: Expr, extent: Expr | int) -> _Ends | None:
    """Those of an index that is a sum of indices and sizes, and where sizes decide."""
    form, length = _form(index), number(extent) if isinstance(extent, int) else _form(extent)
    if form is None or length is None:
        return None
    low = high = form
    around: list[Form] = []
    for axis, factor in form.terms:
        if isinstance(axis, Axis):
            most = number(axis.extent) if isinstance(axis.extent, int) else _form(axis.extent)
            if most is None or (isinstance(axis.extent, int) and not axis.extent):
                return None
            around.append(most)
            last = most.plus(number(-1))
            least, greatest = (number(0), last) if factor > 0 else (last, number(0))
            low = low.plus(unknown(axis), -factor).plus(least, factor)
            high = high.plus(unknown(axis), -factor).plus(greatest, factor)
    if not (low.terms or high.terms or length.terms):
        return None
    return _Ends(low, high, length, tuple(around))


def _form(one: Expr) -> Form | None:
    """An integer as a sum of indices and sizes."""
    if isinstance(one, Number):
        return number(int(one.value))
    if isinstance(one, Axis | Size):
        return unknown(one)
    if not isinstance(one, Call) or one.name not in ("add", "sub", "mul"):
        return None
    left, right = map(_form, one.arguments)
    if left is None or right is None:
        return None
    if one.name != "mul":
        return left.plus(right, 1 if one.name == "add" else -1)
    if left.terms and right.terms:
        return None
    return left.times(right.constant) if left.terms else right.times(left.constant)


def _is_positive(total: Form) -> bool:
    """Whether a sum of sizes is greater than 0 wherever these are."""
    factors = [factor for _, factor in total.terms]
    return min(factors, default=0) >= 0 and total.constant + sum(factors) > 0
