"""Distances of iterations in which two accesses meet at one element: by affine indices.

Where they are, the indices of each axis are equal sums: `Σ factor · distance = gap`, with the
distances of the loops around both (Allen and Kennedy 2001, §2.2). Often one solution is left, as of
the digits of a number: rows of a flattened array are rows. The index of an inner loop is counted
from where the loop begins, `lower + step · trip`, so that the elements of a block, `for i in
range(4 * b, 4 * b + 4)`, are digits too.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

import msgspec

from mlirad.analysis.linear import Linear, LinearForms, unknown
from mlirad.analysis.trips import span_of
from mlirad.bindings import ir
from mlirad.ir.box import Bounds, bounds_of_index
from mlirad.ir.structured import is_for
from mlirad.ir.walk import constant_integer, owner_operation

Sum = Linear[ir.Value]
Distances = dict[ir.Value, int]  # of the second access from the first, by index of a loop


class Interval(NamedTuple):
    """The values that a number may take; None where not known."""

    low: int | None
    high: int | None

    def meets(self, other: Interval) -> bool:
        """Return whether a value may lie in both."""
        before = self.high is not None and other.low is not None and self.high < other.low
        after = self.low is not None and other.high is not None and self.low > other.high
        return not before and not after

    def plus(self, other: Interval, factor: int) -> Interval:
        """The values of a sum, of which one term is multiplied."""
        low, high = other if factor >= 0 else (other.high, other.low)
        return Interval(_sum(self.low, low, factor), _sum(self.high, high, factor))


def _sum(value: int | None, other: int | None, factor: int) -> int | None:
    return None if value is None or other is None else value + factor * other


class Term(msgspec.Struct, frozen=True):
    """The contribution of a distance to the gap of an axis; `reach` is the greatest that it can
    be."""

    leaf: ir.Value
    factor: int
    reach: int | None


class Solution(msgspec.Struct, frozen=True):
    """The distances that the indices of an axis demand; with `is_all`, of all loops that they
    move with, and whatever else they are made of."""

    distances: Distances
    is_all: bool


class Indices:
    """The indices of one function as sums, of trips of inner loops."""

    def __init__(self, forms: LinearForms) -> None:
        self.forms = forms
        self.counted: dict[ir.Value, Bounds] = {}  # indices of loops that stand for their trips
        self._sums: dict[ir.Value, Sum] = {}
        self._intervals: dict[ir.Value, Interval] = {}

    def sum_of(self, index: ir.Value) -> Sum:
        """The sum that an index is."""
        total = self._sums.get(index)
        if total is None:
            form = self.forms.form_of(index)
            sums = {leaf: self._leaf(leaf) for leaf in form.names}
            total = self._sums[index] = form.substitute(sums)
        return total

    def _leaf(self, leaf: ir.Value) -> Sum:
        """Return the sum that stands for a term: of an index that is counted, the start of its
        loop, and trips."""
        bounds = self.counted.get(leaf) or _bounds_to_count(leaf)
        if bounds is None:
            return unknown(leaf)
        self.counted[leaf] = bounds
        return self.sum_of(bounds.lower).plus(unknown(leaf), constant_integer(bounds.step) or 1)

    def interval(self, index: ir.Value) -> Interval:
        """The values that an index may take."""
        interval = self._intervals.get(index)
        if interval is None:
            interval = self._intervals[index] = self.interval_of(self.sum_of(index))
        return interval

    def interval_of(self, total: Sum) -> Interval:
        """The values of a sum."""
        total_interval = Interval(total.constant, total.constant)
        for leaf, factor in total.terms:
            total_interval = total_interval.plus(self.bounds(leaf), factor)
        return total_interval

    def bounds(self, leaf: ir.Value) -> Interval:
        """The values of an index of a loop, or of its trips."""
        counted = self.counted.get(leaf)
        if counted is not None:
            length = self.interval_of(
                self.sum_of(counted.upper).plus(self.sum_of(counted.lower), -1)
            ).high
            step = constant_integer(counted.step) or 1
            return Interval(0, None if length is None else max(0, (length - 1) // step))
        span = span_of(leaf)
        if span is None:
            return Interval(None, None)
        return Interval(span.low, None if span.high is None else span.high - 1)

    def reach(self, leaf: ir.Value) -> int | None:
        """The most that two values of an index, or of its trips, differ by."""
        low, high = self.bounds(leaf)
        return None if low is None or high is None else max(0, high - low)


def _bounds_to_count(leaf: ir.Value) -> Bounds | None:
    """The bounds of an index of a `for` that begins at what is not a constant, or has steps."""
    bounds = bounds_of_index(leaf)
    if bounds is None or not is_for(owner_operation(leaf)):
        return None
    step = constant_integer(bounds.step)
    if step is None or step < 1:
        return None
    return None if step == 1 and constant_integer(bounds.lower) is not None else bounds


class Axis:
    """The indices of two accesses along one axis."""

    def __init__(self, indices: Indices, left: Sum, right: Sum) -> None:
        self.indices, self.left, self.right = indices, left, right
        self.gap = left.constant - right.constant

    def solve(
        self, moving: Container[ir.Value], differs: Callable[[ir.Value], bool]
    ) -> Solution | None:
        """The distances at which both are equal; None where they never are.

        `moving` are the indices of loops whose distances are asked for. What else `differs` may be
        another number in the second access.
        """
        terms, slack, is_all = [], Interval(0, 0), True
        for leaf in {*self.left.names, *self.right.names}:
            coefficient, other = self.left.coefficient(leaf), self.right.coefficient(leaf)
            if coefficient == other and leaf in moving:
                terms.append(Term(leaf, coefficient, self.indices.reach(leaf)))
            elif leaf in moving or differs(leaf):
                bounds, is_all = self.indices.bounds(leaf), False
                slack = slack.plus(bounds, other).plus(bounds, -coefficient)
            elif coefficient != other:
                slack, is_all = slack.plus(self.indices.bounds(leaf), other - coefficient), False
        needed = Interval(self.gap, self.gap).plus(slack, -1)
        if None in needed:
            return Solution({}, False)
        distances = _solutions(sorted(terms, key=lambda term: -abs(term.factor)), needed)
        return (
            None
            if distances is None
            else Solution(distances, is_all and len(distances) == len(terms))
        )


def _solutions(terms: Sequence[Term], needed: Interval) -> Distances | None:
    """Distances that are the same wherever `Σ factor · distance` lies in an interval; None where it
    never does."""
    solutions: Distances = {}
    low, high = needed
    assert low is not None and high is not None
    if not terms and not low <= 0 <= high:
        return None
    for position, term in enumerate(terms):
        other_terms = Interval(0, 0)
        for other in terms[position + 1 :]:
            most = other.reach
            span = Interval(None, None) if most is None else Interval(-most, most)
            other_terms = other_terms.plus(span, other.factor)
        if None in other_terms:
            break
        first, last = _multiples(
            term.factor, low - (other_terms.high or 0), high - (other_terms.low or 0)
        )
        if term.reach is not None:
            first, last = max(first, -term.reach), min(last, term.reach)
        if first > last:
            return None
        if first < last:
            break
        solutions[term.leaf] = first
        low, high = low - term.factor * first, high - term.factor * first
    return solutions


def _multiples(factor: int, low: int, high: int) -> tuple[int, int]:
    """The least and the greatest number whose multiple lies between two numbers."""
    if factor < 0:
        factor, low, high = -factor, -high, -low
    return -(-low // factor), high // factor
