"""Indices that are out of bounds, as far as is known before a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.errors import SourceLocation, TaichiIndexError
from mlirad.te.definitions.size_needs import SizeNeed, SumOfSizes
from mlirad.te.expressions import (
    Axis,
    Branches,
    Call,
    Expr,
    Number,
    Read,
    Reduction,
    Select,
    Size,
    in_order,
    is_empty,
    is_number,
    shown_extent,
)

Interval = tuple[int, int]  # first and last


def check_reads(body: Expr, shape: Sequence[Expr | int] = ()) -> list[SizeNeed]:
    """Raise TaichiIndexError if a read is out of bounds: at any indices; under a condition, at
    all. What sizes have to be for the others, in a definition of some shape, is given. Nothing is
    read in a definition without elements, nor in a reduction over no points."""
    check = _Check(shape, Branches(body))
    if not is_empty(shape):
        check.visit(body)
    return check.needs


@dataclass(frozen=True)
class _Around:
    """The context of an expression: whether a condition guards it, and reductions around it."""

    is_guarded: bool = False
    axes: tuple[Axis, ...] = ()


class _Check:
    def __init__(self, shape: Sequence[Expr | int], branches: Branches) -> None:
        self._shape, self._branches = shape, branches
        self.needs: list[SizeNeed] = []

    def visit(self, body: Expr) -> None:
        """Look at an expression, and what it is made of."""
        pending = [(body, _Around())]
        visited: set[tuple[Expr, _Around]] = set()
        while pending:
            node, around = pending.pop()
            if (node, around) not in visited:
                visited.add((node, around))
                if isinstance(node, Read):
                    self._read(node, around)
                pending += reversed(self._operands_around(node, around))

    def _operands_around(self, node: Expr, around: _Around) -> list[tuple[Expr, _Around]]:
        """Return the operands that an expression is computed of, each with its context."""
        guarded = replace(around, is_guarded=True)
        if isinstance(node, Select):
            always = [node.condition, *self._branches.shared_by_branches(node)]
            return [
                *((operand, around) for operand in always),
                (node.then, guarded),
                (node.otherwise, guarded),
            ]
        if not isinstance(node, Reduction):
            return [(operand, around) for operand in node.operands]
        initial = [(value, around) for value in node.initial]
        if is_empty([axis.extent for axis in node.axes]):
            return initial
        inside = replace(around, axes=(*around.axes, *node.axes))
        where = [] if node.where is None else [(node.where, inside)]
        inside = inside if node.where is None else replace(inside, is_guarded=True)
        return [*((value, inside) for value in node.values), *where, *initial]

    def _read(self, read: Read, around: _Around) -> None:
        if is_empty(read.tensor.shape):
            if not around.is_guarded:
                raise TaichiIndexError(
                    f"tensor '{read.tensor.name}' is read, but has no elements", read.place
                )
            return
        for axis, (index, extent) in enumerate(zip(read.indices, read.tensor.shape)):
            text = f"index {axis} of tensor '{read.tensor.name}'"
            self._check_sizes(text, index, extent, read, around)
            limits = interval(index)
            if limits is None or limits[1] < limits[0]:
                continue
            low, high = limits
            length = extent if isinstance(extent, int) else None
            never = high < 0 or (length is not None and low >= length)
            beyond = low < 0 or (length is not None and high >= length)
            if never or (beyond and not around.is_guarded):
                raise TaichiIndexError(
                    f"{text} goes from {low} to {high}, but its extent is "
                    f"{shown_extent(extent)}: put a te.select around the read",
                    read.place,
                )

    def _check_sizes(
        self, text: str, index: Expr, extent: Expr | int, read: Read, around: _Around
    ) -> None:
        """Look at an index where sizes decide; one that is no sum needs an element at least."""
        ends = _ends(index, extent)
        if ends is None:
            length = None if isinstance(extent, int) else _form(extent)
            ends = None if length is None else _Ends(number(0), number(0), length, ())
        elif ends.are_beyond_for_every_size(around.is_guarded):
            raise TaichiIndexError(
                f"{text}, of extent {shown_extent(extent)}, is out of bounds for every size",
                read.place,
            )
        if ends is not None and not around.is_guarded:
            extents = [*self._shape, *(axis.extent for axis in around.axes)]
            self.needs += ends.needs(text, read.place, extents)


def interval(root: Expr) -> Interval | None:
    """The least and the greatest value of an integer; None if they are not known."""
    intervals: dict[Expr, Interval | None] = {}
    for node in in_order(root, _operands):
        if isinstance(node, Number):
            intervals[node] = int(node.value), int(node.value)
        elif isinstance(node, Axis):
            intervals[node] = (0, node.extent - 1) if isinstance(node.extent, int) else None
        elif isinstance(node, Call) and node.name in _CALLS:
            limits = [intervals[operand] for operand in node.operands]
            intervals[node] = None if None in limits else _CALLS[node.name](*limits)
        else:
            intervals[node] = None
    return intervals[root]


def _operands(node: Expr) -> Sequence[Expr]:
    """Return the operands that decide the value of an integer."""
    return node.operands if isinstance(node, Call) and node.name in _CALLS else ()


def _product(left: Interval, right: Interval) -> Interval:
    ends = [a * c for a in left for c in right]
    return min(ends), max(ends)


def _quotient(left: Interval, right: Interval) -> Interval | None:
    if right[0] != right[1] or right[0] == 0:
        return None
    ends = [end // right[0] for end in left]
    return min(ends), max(ends)


def _remainder(left: Interval, right: Interval) -> Interval | None:
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
    "mod": _remainder,
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
        """Return whether the index is out of bounds at some indices; under a condition, at all."""
        first, behind = (self.high, self.low) if is_guarded else (self.low, self.high)
        beyond = behind.plus(self.length, -1).plus(number(1))
        return _is_positive(first.times(-1)) or _is_positive(beyond)

    def needs(
        self, text: str, place: SourceLocation, extents: Sequence[Expr | int]
    ) -> Iterator[SizeNeed]:
        """Yield the conditions on sizes under which the index is in bounds, unless all sizes that
        have elements within some extents."""
        forms = [_form(factor) for extent in extents for factor in _factors(extent)]
        around = [*self.around, *(form for form in forms if form is not None)]
        named = tuple(sums for form in around if (sums := _by_name(form)) is not None)
        least = _least_sizes(named) if None not in forms else None
        for form in (self.low, self.length.plus(self.high, -1).plus(number(-1))):
            sums = _by_name(form)
            if sums is not None and not _is_never_negative(sums, least):
                yield SizeNeed(sums, tuple(dict.fromkeys(named)), text, place)


def _factors(extent: Expr | int) -> list[Expr]:
    """Return the factors of an extent, all of which are positive if it is."""
    factors, pending = list[Expr](), [extent] if isinstance(extent, Expr) else []
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.name == "mul":
            pending += node.arguments
        else:
            factors.append(node)
    return factors


def _least_sizes(extents: Sequence[SumOfSizes]) -> dict[str, int]:
    """Return the least values of sizes for which some extents are positive."""
    least: dict[str, int] = {}
    for total in extents:
        if len(total.terms) == 1:
            ((name, factor),) = total.terms
            if factor > 0:
                least[name] = max(least.get(name, 0), -((total.constant - 1) // factor))
    return least


def _is_never_negative(total: SumOfSizes, least: Mapping[str, int] | None) -> bool:
    """Return whether a sum is never negative for sizes of at least so much, or 1 if that is not
    known."""
    factors = [factor for _, factor in total.terms]
    sizes = {name: 1 if least is None else least.get(name, 0) for name in total.names}
    smallest = sum(factor * sizes[name] for name, factor in total.terms)
    return min(factors, default=0) >= 0 and total.constant + smallest >= 0


def _by_name(total: Form) -> SumOfSizes | None:
    """A sum of sizes alone by their names."""
    if not all(isinstance(name, Size) for name in total.names):
        return None
    terms = ((size.name, factor) for size, factor in total.terms if isinstance(size, Size))
    return Linear(frozenset(terms), total.constant)


def _ends(index: Expr, extent: Expr | int) -> _Ends | None:
    """Return the ends of an index that is a sum of indices and sizes, if sizes decide."""
    form, length = _form(index), number(extent) if isinstance(extent, int) else _form(extent)
    if form is None or length is None:
        return None
    low = high = form
    around: list[Form] = []
    for axis, factor in form.terms:
        if isinstance(axis, Axis):
            most = number(axis.extent) if isinstance(axis.extent, int) else _form(axis.extent)
            if most is None or is_number(axis.extent, 0):
                return None
            around.append(most)
            last = most.plus(number(-1))
            least, greatest = (number(0), last) if factor > 0 else (last, number(0))
            low = low.plus(unknown(axis), -factor).plus(least, factor)
            high = high.plus(unknown(axis), -factor).plus(greatest, factor)
    if not (low.terms or high.terms or length.terms):
        return None
    return _Ends(low, high, length, tuple(around))


def _form(root: Expr) -> Form | None:
    """An integer as a sum of indices and sizes."""
    forms: dict[Expr, Form | None] = {}
    for node in root.nodes():
        if isinstance(node, Number):
            forms[node] = number(int(node.value))
        elif isinstance(node, Axis | Size):
            forms[node] = unknown(node)
        else:
            forms[node] = _combine_forms(node, [forms[inner] for inner in node.operands])
    return forms[root]


def _combine_forms(node: Expr, operands: Sequence[Form | None]) -> Form | None:
    if not isinstance(node, Call) or node.name not in ("add", "sub", "mul"):
        return None
    left, right = operands
    if left is None or right is None:
        return None
    if node.name != "mul":
        return left.plus(right, 1 if node.name == "add" else -1)
    if left.terms and right.terms:
        return None
    return left.times(right.constant) if left.terms else right.times(left.constant)


def _is_positive(total: Form) -> bool:
    """Return whether a sum of sizes is greater than 0 wherever these are."""
    factors = [factor for _, factor in total.terms]
    return min(factors, default=0) >= 0 and total.constant + sum(factors) > 0
