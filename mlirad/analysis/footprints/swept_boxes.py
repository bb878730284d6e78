"""The boxes that accesses sweep: which elements one reaches in a launch, each of them once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mlirad.analysis.footprints.footprint import Axes, Axis, Bound
from mlirad.analysis.linear import Linear, linear_form, number, unknown
from mlirad.analysis.meetings import residue_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.ops import Arith, Func
from mlirad.ir.structured import If, is_branch, is_for, is_parallel
from mlirad.ir.walk import constant_integer, defining_op, enclosing, is_function_argument

_NEGATED = {b.SLT: b.SGE, b.SLE: b.SGT, b.SGT: b.SLE, b.SGE: b.SLT}
Form = Linear[ir.Value]


class _Range(NamedTuple):
    """An index runs from one number to another, which it reaches."""

    low: Bound
    high: Bound

    def narrow(self, low: int | None, high: int | None) -> _Range | None:
        """The part of it that a condition leaves, where its ends are known while compiling."""
        if self.low.terms or self.high.terms:
            return None
        first = self.low.constant if low is None else max(low, self.low.constant)
        last = self.high.constant if high is None else min(high, self.high.constant)
        return _Range(number(first), number(last))


def swept_box(op: ir.Operation, indices: list[ir.Value], numbers: Mapping[int, int]) -> Axes | None:
    """The box of which an access reaches each element once in a launch; None where that is not
    known.

    Nothing but loops and conditions on their indices is around it, and each index of a loop moves
    along one axis, which it may wrap around. The bounds are of the numbers of the launch's
    arguments.
    """
    ranges = _ranges_around(op, numbers)
    if ranges is None:
        return None
    axes: list[Axis] = []
    for form in map(linear_form, indices):
        if (wrapped := _wrapped(form, ranges)) is not None:
            leaf, extent = wrapped
            ranges.pop(leaf)
            axes.append(Axis(number(0), number(extent - 1)))
            continue
        moving = [(leaf, factor) for leaf, factor in form.terms if leaf in ranges]
        fixed = _of_launch(_without(form, moving), numbers)
        if len(moving) > 1 or fixed is None:
            return None
        low = high = fixed
        for leaf, factor in moving:
            if abs(factor) != 1:
                return None
            ends = ranges.pop(leaf)
            first, last = ends if factor == 1 else reversed(ends)
            low, high = low.plus(first, factor), high.plus(last, factor)
        axes.append(Axis(low, high))
    return None if ranges else tuple(axes)


def united_box(boxes: Sequence[Axes | None]) -> Axes | None:
    """Return the union of boxes if it is one: of a single box, or of boxes that follow one another
    along an axis, as the components of a vector do."""
    sure = [box for box in boxes if box is not None]
    if not sure or len(sure) < len(boxes):
        return None
    if len(sure) == 1:
        return sure[0]
    varying = [axis for axis, ends in enumerate(zip(*sure)) if len(set(ends)) > 1]
    if len(varying) != 1:
        return None
    ends = [box[varying[0]] for box in sure]
    places = sorted(end.low.constant for end in ends if end.low is not None and end.low == end.high)
    if any(end.low is None or end.low != end.high or end.low.terms for end in ends):
        return None
    if places != list(range(places[0], places[0] + len(sure))):
        return None
    axis = Axis(number(places[0]), number(places[-1]))
    return tuple(axis if k == varying[0] else first for k, first in enumerate(sure[0]))


def _wrapped(form: Form, ranges: Mapping[ir.Value, _Range]) -> tuple[ir.Value, int] | None:
    """Return the index of a loop, and the extent, if a sum is the remainder of `index + c` by the
    extent, and the index has as many values."""
    residue = residue_of(form, linear_form)
    if not residue.is_remainder or len(residue.total.terms) != 1:
        return None
    ((leaf, factor),) = residue.total.terms
    if leaf not in ranges or abs(factor) != 1:
        return None
    low, high = ranges[leaf]
    if low.terms or high.terms or high.constant - low.constant + 1 != residue.modulus:
        return None
    least = residue.total.constant + min(factor * low.constant, factor * high.constant)
    divisions = [op.name for op in map(defining_op, form.names) if op is not None]
    # the remainder of a negative number is negative, unless its quotient is rounded down
    is_known = least >= 0 or Arith.FLOORDIVSI in divisions
    return (leaf, residue.modulus) if is_known else None


def _without(form: Form, moving: list[tuple[ir.Value, int]]) -> Form:
    return Linear(form.terms - frozenset(moving), form.constant)


def _of_launch(form: Form, numbers: Mapping[int, int]) -> Bound | None:
    """A sum of arguments of a launch, by their numbers."""
    arguments: dict[ir.Value, Bound] = {}
    for name in form.names:
        if not is_function_argument(name) or ir.BlockArgument(name).arg_number not in numbers:
            return None
        arguments[name] = unknown(numbers[ir.BlockArgument(name).arg_number])
    return form.substitute(arguments)


def _ranges_around(op: ir.Operation, numbers: Mapping[int, int]) -> dict[ir.Value, _Range] | None:
    """Return the ranges of the indices of the loops around an operation; None if something else is
    around it, or if bounds are not known before the launch."""
    ranges, conditions = dict[ir.Value, _Range](), list[tuple[ir.Value, bool]]()
    inner, parent = op, enclosing(op)
    while parent.name != Func.FUNC:
        if is_branch(parent):
            conditions.append((parent.operands[0], inner.block == If(parent).then))
        elif not (is_for(parent) or is_parallel(parent)):
            return None
        for index, bounds in zip(parent.regions[0].blocks[0].arguments, bounds_of(parent)):
            low, upper = (_of_launch(linear_form(end), numbers) for end in bounds[:2])
            if low is None or upper is None or constant_integer(bounds.step) != 1:
                return None
            ranges[index] = _Range(low, upper.plus(number(-1)))
        inner, parent = parent, enclosing(parent)
    for condition, is_met in conditions:
        for leaf, low_end, high_end in _limits(condition, is_met):
            if leaf not in ranges:
                return None
            narrowed = ranges[leaf].narrow(low_end, high_end)
            if narrowed is None:
                return None
            ranges[leaf] = narrowed
    return ranges


Limit = tuple[ir.Value | None, int | None, int | None]  # what is limited, from where, to where


def _limits(condition: ir.Value, is_met: bool) -> Iterator[Limit]:
    """Yield the limits that a condition sets to single values; None stands for any other
    condition."""
    op = defining_op(condition)
    if op is not None and op.name == Arith.ANDI and is_met:
        for operand in op.operands:
            yield from _limits(operand, is_met)
        return
    if op is None or op.name != Arith.CMPI:
        yield None, None, None
        return
    kind = b.predicate_of(op)
    left, right = map(linear_form, op.operands)
    yield _limit(left.plus(right, -1), kind if is_met else _NEGATED.get(kind, kind))


def _limit(gap: Form, kind: int) -> Limit:
    """Return the limit of a value if a difference is below 0, or another `kind` of comparison."""
    if len(gap.terms) != 1 or kind not in _NEGATED:
        return None, None, None
    ((leaf, factor),) = gap.terms
    if abs(factor) != 1:
        return None, None, None
    # the difference is at least 0, or at most
    is_least = kind in (b.SGE, b.SGT)
    slack = 1 if kind in (b.SLT, b.SGT) else 0
    if is_least == (factor == 1):
        return leaf, slack - factor * gap.constant, None
    return leaf, None, -factor * gap.constant - slack
