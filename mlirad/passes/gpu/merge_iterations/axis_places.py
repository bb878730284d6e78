"""Where the iterations of a parallel loop are along its last axis: what they touch there, and what
they ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlirad.analysis.linear import (
    Intervals,
    Linear,
    LinearForms,
    build_sum,
    extent_of,
    number,
    unknown,
)
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import defining_op, is_defined_in

_LEAST, _GREATEST = -(1 << 31), (1 << 31) - 1
# How a comparison of x and y is said by a sum that is not below 0: which is taken from which, and
# what is added.
_SIGNED = {b.SGE: (1, 0), b.SGT: (1, -1), b.SLE: (-1, 0), b.SLT: (-1, -1)}


class Places:
    """The indices of one loop, whose bounds are known."""

    def __init__(self, loop: Parallel) -> None:
        self.loop, self.index = loop, loop.indices[-1]
        self._forms = LinearForms()
        self._spans = [(s.low or 0, s.high or 0) for s in spans(loop.op)]
        # constants that, with these terms, make a sum that is not below 0: the least says most
        self._least: dict[frozenset[tuple[ir.Value, int]], int] = {}
        self._plain: list[ir.Value] = []

    def are_shared(self, indices: Sequence[ir.Value]) -> bool:
        """Return whether some indices are the same all along the axis."""
        return all(self._is_invariant(self._forms.form_of(index)) for index in indices)

    def distance(self, indices: Sequence[ir.Value]) -> int | None:
        """Return how far along the axis an element lies from the place of the iteration; None if it
        is not known, or changes."""
        if not indices or not self.are_shared(indices[:-1]):
            return None
        form = self._forms.form_of(indices[-1])
        return form.constant if form.terms == unknown(self.index).terms else None

    def take(self, condition: ir.Value) -> bool:
        """Take a condition for one of those that have to hold; not one that may change to and fro
        along the axis, or that is not known before the iteration."""
        if not is_defined_in(condition, self.loop.op):
            self._plain.append(condition)
            return True
        op = defining_op(condition)
        if op is None or op.name != Arith.CMPI or b.predicate_of(op) not in _SIGNED:
            return False
        left, right = (self._side(operand) for operand in op.operands)
        if left is None or right is None:
            return False
        factor, constant = _SIGNED[b.predicate_of(op)]
        self._add(left.plus(right, -1).times(factor).plus(number(constant)))
        return True

    def _side(self, value: ir.Value) -> Linear[ir.Value] | None:
        """A side of a comparison as a sum of numbers that are known in front of the loop, and of
        its indices, which has not wrapped around; None for others."""
        form = self._forms.form_of(value)
        if any(name not in self.loop.indices and not self._is_outside(name) for name in form.names):
            return None
        if isinstance(value.type, ir.IndexType) or form == unknown(value):
            return form
        extent = extent_of(form, self._intervals(1))
        return form if extent and extent[0] >= _LEAST and extent[1] <= _GREATEST else None

    def chunks(self, count: int) -> tuple[int, int]:
        """Return the first and the end of the groups of `count` places that the axis needs."""
        low, high = self._spans[-1]
        return low // count, -(-high // count)

    def tests(self, count: int, first: ir.Value) -> list[ir.Value]:
        """Make the conditions under which all of `count` places from the first on are places of the
        loop, and those that were taken hold."""
        for bound in self._bounds():
            self._add(bound)
        intervals, conditions = self._intervals(count), list(self._plain)
        for terms, constant in self._least.items():
            total = Linear(terms, constant)
            total = total.plus(number(min(0, total.coefficient(self.index)) * (count - 1)))
            if _may_be_negative(total, intervals):
                conditions.append(_is_not_negative(total, {self.index: first}))
        return conditions

    def bounds(self, first: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
        """Make the first and the end of the loop's places among `count` from one on."""
        low, high = self._spans[-1]
        end = b.add(first, b.index(count))
        return b.maxsi(first, b.index(low)), b.minsi(end, b.index(high))

    def _bounds(self) -> Iterable[Linear[ir.Value]]:
        low, high = self._spans[-1]
        along: Linear[ir.Value] = unknown(self.index)
        return along.plus(number(-low)), along.times(-1).plus(number(high - 1))

    def _add(self, total: Linear[ir.Value]) -> None:
        self._least[total.terms] = min(total.constant, self._least.get(total.terms, total.constant))

    def _intervals(self, count: int) -> dict[ir.Value, tuple[int, int]]:
        """The indices of the loop, the last where groups begin."""
        intervals: dict[ir.Value, tuple[int, int]] = {
            index: (low, high - 1) for index, (low, high) in zip(self.loop.indices, self._spans)
        }
        first, end = self.chunks(count)
        intervals[self.index] = (first * count, (end - 1) * count)
        return intervals

    def _is_invariant(self, form: Linear[ir.Value]) -> bool:
        outer = self.loop.indices[:-1]
        return all(name in outer or self._is_outside(name) for name in form.names)

    def _is_outside(self, value: ir.Value) -> bool:
        return not is_defined_in(value, self.loop.op)


def _is_not_negative(total: Linear[ir.Value], values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Compare a sum with 0, or its terms with its constant."""
    left = build_sum(Linear(total.terms, 0), values)
    return b.compare(b.SGE, left, b.index(-total.constant))


def _may_be_negative(total: Linear[ir.Value], intervals: Intervals[ir.Value]) -> bool:
    extent = extent_of(total, intervals)
    return extent is None or extent[0] < 0
