"""The last axis of a parallel loop: what iterations touch along it, and what they require."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from mlirad.analysis.linear import (
    Intervals,
    Linear,
    LinearForms,
    build_sum,
    evaluate_sum,
    extent_of,
    number,
    unknown,
)
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import constant_integer, defining_op, is_defined_in

_MOSTLY = 0.75
_SAMPLES = 6  # along an axis
_LEAST, _GREATEST = -(1 << 31), (1 << 31) - 1
# How a comparison of x and y is said by a sum that is not below 0: which is taken from which, and
# what is added.
_SIGNED = {b.SGE: (1, 0), b.SGT: (1, -1), b.SLE: (-1, 0), b.SLT: (-1, -1)}
_TRUTH = {Arith.ANDI: True, Arith.ORI: False}  # for which both operands have to be so

Sum = Linear[ir.Value]
Group = dict[ir.Value, int]  # how many places along some axes are taken together


class Places:
    """The indices of one loop, whose bounds are known. What decides something by them is settled as
    it is in the middle of the box, under conditions that most places meet."""

    def __init__(self, loop: Parallel) -> None:
        self.loop, self.index = loop, loop.indices[-1]
        self.settled: dict[ir.Value, ir.Value | int] = {}  # what stands for a value
        self._forms = LinearForms()
        self._spans: dict[ir.Value, tuple[int, int]] = {
            index: (span.low or 0, span.high or 0)
            for index, span in zip(loop.indices, spans(loop.op))
        }
        self._middle = {axis: (low + high) // 2 for axis, (low, high) in self._spans.items()}
        # constants that, with these terms, make a sum that is not below 0: the least says most
        self._least: dict[frozenset[tuple[ir.Value, int]], int] = {}
        for axis, (low, high) in self._spans.items():
            self._add(unknown(axis).plus(number(-low)))
            self._add(unknown(axis).times(-1).plus(number(high - 1)))

    def are_shared(self, indices: Sequence[ir.Value]) -> bool:
        """Return whether some indices are the same all along the axis."""
        return all(self._is_invariant(self._form(index)) for index in indices)

    def distance(self, indices: Sequence[ir.Value]) -> int | None:
        """Return how far along the axis an element lies from the place of the iteration; None if it
        is not known, or changes."""
        if not indices or not self.are_shared(indices[:-1]):
            return None
        form = self._form(indices[-1])
        return form.constant if form.terms == unknown(self.index).terms else None

    def row(self, indices: Sequence[ir.Value]) -> tuple[tuple[Sum, ...], int] | None:
        """Return where an element lies but for the row and the place in it, and how many rows from
        that of the iteration; None if it is not known."""
        if len(indices) < 2 or self.loop.rank < 2:
            return None
        *outer, form = map(self._form, indices[:-1])
        is_near = form.terms == unknown(self.loop.indices[-2]).terms
        return (tuple(outer), form.constant) if is_near else None

    # Decisions.

    def settle(self, condition: ir.Value) -> bool | None:
        """Return whether a condition holds where all that is settled is so; None if that changes to
        and fro along the axis, or is not known before the launch."""
        op = defining_op(condition)
        if op is None or op.name not in (Arith.CMPI, *_TRUTH):
            return None
        return self._settle_comparison(op) if op.name == Arith.CMPI else self._settle_both(op)

    def _settle_both(self, op: ir.Operation) -> bool | None:
        """Settle a conjunction or a disjunction: one operand suffices where that decides it."""
        truth = _TRUTH[op.name]
        return next((t for t in map(self.settle, op.operands) if t != truth), truth)

    def _settle_comparison(self, op: ir.Operation) -> bool | None:
        left, right = (self._side(operand) for operand in op.operands)
        if left is None or right is None:
            return None
        predicate, difference = b.predicate_of(op), left.plus(right, -1)
        if difference.terms and all(map(self._is_outside, difference.names)):
            return None
        at_middle = self._at_middle(difference)
        if predicate in _SIGNED:
            factor, constant = _SIGNED[predicate]
            total = difference.times(factor).plus(number(constant))
            holds = at_middle is None or factor * at_middle + constant >= 0
            self._add(total if holds else _opposite(total))
            return holds
        if predicate not in (b.EQ, b.NE) or at_middle is None or not difference.terms:
            return None
        self._add(difference.times(1 if at_middle >= 0 else -1).plus(number(-1)))
        return predicate == b.NE

    def _form(self, value: ir.Value) -> Sum:
        """The sum that an index is, where all that is settled is so."""
        total = self._forms.form_of(value)
        for name, factor in total.terms:
            settled = self._settled_form(name)
            if settled is not None:
                total = total.without(name).plus(settled, factor)
        return total

    def _settled_form(self, name: ir.Value) -> Sum | None:
        op = defining_op(name)
        if op is None or not is_defined_in(name, self.loop.op):
            return None
        if name not in self.settled and op.name == Arith.SELECT:
            truth = self.settle(op.operands[0])
            if truth is not None:
                self.settled[name] = op.operands[1 if truth else 2]
        if name not in self.settled and op.name == Arith.FLOORDIVSI:
            self._settle_quotient(op)
        settled = self.settled.get(name)
        if settled is None:
            return None
        return number(settled) if isinstance(settled, int) else self._form(settled)

    def _settle_quotient(self, op: ir.Operation) -> None:
        form, divisor = self._side(op.operands[0]), constant_integer(op.operands[1])
        at_middle = None if form is None else self._at_middle(form)
        if form is not None and at_middle is not None and divisor is not None and divisor > 0:
            quotient = at_middle // divisor
            self._add(form.plus(number(-quotient * divisor)))
            self._add(form.times(-1).plus(number(quotient * divisor + divisor - 1)))
            self.settled[op.results[0]] = quotient

    def _at_middle(self, total: Sum) -> int | None:
        if any(name not in self._middle for name in total.names):
            return None
        return total.constant + sum(factor * self._middle[name] for name, factor in total.terms)

    def _side(self, value: ir.Value) -> Sum | None:
        """A side of a comparison as a sum of numbers that are known in front of the loop, and of
        its indices, which has not wrapped around; None for others."""
        form = self._form(value)
        if any(name not in self.loop.indices and not self._is_outside(name) for name in form.names):
            return None
        if isinstance(value.type, ir.IndexType) or form == unknown(value):
            return form
        extent = extent_of(form, self._intervals({}))
        return form if extent and extent[0] >= _LEAST and extent[1] <= _GREATEST else None

    # Groups of places.

    def chunks(self, axis: ir.Value, count: int) -> tuple[int, int]:
        """Return the first and the end of the groups of `count` places that an axis needs."""
        low, high = self._spans[axis]
        return low // count, -(-high // count)

    def are_mostly_alike(self, group: Group) -> bool:
        """Return whether most groups of places are such that all is as it is settled; what is known
        at the launch only counts as so."""
        totals = [t for t in self._tested(group) if all(name in self._spans for name in t.names)]
        axes = [_samples(interval) for interval in self._intervals(group).values()]
        samples = [dict(zip(self._spans, point)) for point in product(*axes)]
        for place, (axis, count) in product(samples, group.items()):
            place[axis] -= place[axis] % count
        alike = sum(all(evaluate_sum(t, place) >= 0 for t in totals) for place in samples)
        return alike >= _MOSTLY * len(samples)

    def tests(self, group: Group, firsts: dict[ir.Value, ir.Value]) -> list[ir.Value]:
        """Make the conditions under which all places of a group from the first on are places of the
        loop, and what is settled is so."""
        intervals = self._intervals(group)
        tested = [total for total in self._tested(group) if _may_be_negative(total, intervals)]
        return [_is_not_negative(total, firsts) for total in tested]

    def _tested(self, group: Group) -> Iterable[Sum]:
        """The sums that are not below 0 in groups of which all is settled, by where they begin."""
        for terms, constant in self._least.items():
            total = Linear(terms, constant)
            steps = (min(0, total.coefficient(axis)) * (n - 1) for axis, n in group.items())
            yield total.plus(number(sum(steps)))

    def bounds(self, axis: ir.Value, first: ir.Value, count: int) -> tuple[ir.Value, ir.Value]:
        """Make the first and the end of the loop's places among `count` from one on."""
        low, high = self._spans[axis]
        end = b.add(first, b.index(count))
        return b.maxsi(first, b.index(low)), b.minsi(end, b.index(high))

    def _add(self, total: Sum) -> None:
        self._least[total.terms] = min(total.constant, self._least.get(total.terms, total.constant))

    def _intervals(self, group: Group) -> dict[ir.Value, tuple[int, int]]:
        """The indices of the loop, those of a group where it begins."""
        intervals = {axis: (low, high - 1) for axis, (low, high) in self._spans.items()}
        for axis, count in group.items():
            first, end = self.chunks(axis, count)
            intervals[axis] = first * count, (end - 1) * count
        return intervals

    def _is_invariant(self, form: Sum) -> bool:
        outer = self.loop.indices[:-1]
        return all(name in outer or self._is_outside(name) for name in form.names)

    def _is_outside(self, value: ir.Value) -> bool:
        return not is_defined_in(value, self.loop.op)


def _samples(interval: tuple[int, int]) -> list[int]:
    """Numbers from the least to the greatest, in equal steps."""
    low, high = interval
    return sorted({low + (high - low) * n // _SAMPLES for n in range(1, _SAMPLES)})


def _opposite(total: Sum) -> Sum:
    """The sum that is not below 0 where another is."""
    return total.times(-1).plus(number(-1))


def _is_not_negative(total: Sum, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Compare a sum with 0, or its terms with its constant."""
    left = build_sum(Linear(total.terms, 0), values)
    return b.compare(b.SGE, left, b.index(-total.constant))


def _may_be_negative(total: Sum, intervals: Intervals[ir.Value]) -> bool:
    extent = extent_of(total, intervals)
    return extent is None or extent[0] < 0
