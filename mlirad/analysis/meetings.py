"""Meetings of two iterations of a parallel loop in one element of an array: by the sums that its
indices are, as they are or modulo a constant.

Two equal indices are equal sums; where one is `x % n`, the sums are equal modulo n. What the loop
changes is another number in the other iteration, so `c·x - c·y + d = 0` is asked for numbers x and
y: it has no solution where the common divisor of the factors does not divide d, and only x = y
where x has too few values for another (Allen and Kennedy 2001, §3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

import msgspec

from mlirad.analysis.linear import Linear, LinearForms, number
from mlirad.analysis.trips import span_of
from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer, defining_op, is_defined_in

Form = Linear[ir.Value]


class Residue(msgspec.Struct, frozen=True):
    """An index as far as it is known: its sum, or, if `modulus` is not 0, the remainder of its
    division. An index `is_remainder` where it is that itself, and not a number that leaves as
    much."""

    total: Linear[ir.Value]
    modulus: int = 0
    is_remainder: bool = False


class Meetings:
    """Answers for the accesses of one parallel loop."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self._forms = LinearForms()
        self._residues: dict[ir.Value, Residue] = {}
        self._changed: dict[ir.Value, bool] = {}

    def form(self, index: ir.Value) -> Linear[ir.Value]:
        """The sum that an index is."""
        return self._forms.form_of(index)

    def residue(self, index: ir.Value) -> Residue:
        """Return an index as far as it is known."""
        residue = self._residues.get(index)
        if residue is None:
            residue = self._residues[index] = residue_of(
                self._forms.form_of(index), self._forms.form_of
            )
        return residue

    def residues(self, indices: Iterable[ir.Value]) -> tuple[Residue, ...]:
        """Return the indices of an access as far as they are known."""
        return tuple(self.residue(index) for index in indices)

    def never(self, left: Sequence[Residue], right: Sequence[Residue]) -> bool:
        """Return whether two accesses meet neither in one iteration nor in two."""
        return any(self._differ(residue_left, other) for residue_left, other in zip(left, right))

    def are_apart(self, left: Sequence[Residue], right: Sequence[Residue], iv: ir.Value) -> bool:
        """Return whether two accesses never meet in iterations that differ in an index of the
        loop."""
        return any(
            self._differ(residue_left, residue_right)
            or self._fixes(residue_left, residue_right, iv)
            for residue_left, residue_right in zip(left, right)
        )

    def varying(self, total: Linear[ir.Value]) -> dict[ir.Value, int]:
        """The terms of a sum that the loop changes."""
        return {leaf: factor for leaf, factor in total.terms if self.changes(leaf)}

    def changes(self, value: ir.Value) -> bool:
        """Return whether iterations may have different values: other than what is computed of
        values from outside."""
        changed = self._changed.get(value)
        if changed is None:
            op = defining_op(value)
            changed = self._changed[value] = is_defined_in(value, self.loop) and (
                op is None
                or not op.name.startswith("arith.")
                or any(self.changes(operand) for operand in op.operands)
            )
        return changed

    def _differ(self, left: Residue, right: Residue) -> bool:
        """Return whether two indices are never equal, in one iteration or in two."""
        modulus = gcd(left.modulus, right.modulus)
        varying_left, other = self.varying(left.total), self.varying(right.total)
        if any(not self.changes(leaf) for leaf in left.total.plus(right.total, -1).names):
            return False
        divisor = gcd(modulus, *varying_left.values(), *other.values())
        distance = left.total.constant - right.total.constant
        return bool(distance % divisor if divisor else distance)

    def _fixes(self, left: Residue, right: Residue, iv: ir.Value) -> bool:
        """Return whether two indices are equal only in iterations that have an index in common."""
        if left.total.terms != right.total.terms:
            return False
        factors, modulus = self.varying(left.total), gcd(left.modulus, right.modulus)
        distance = left.total.constant - right.total.constant
        if iv not in factors:
            return False
        if len(factors) > 1:
            return not (modulus or distance) and _is_one_to_one(factors)
        if not (modulus or distance):
            return True
        span = span_of(iv)
        length = None if span is None else span.length
        return length is not None and not _has_another(factors[iv], distance, modulus, length)


def residue_of(form: Form, form_of: Callable[[ir.Value], Form]) -> Residue:
    """Return an index, given by its sum, as far as it is known; `form_of` gives the sum of a
    value."""
    for leaf, factor in form.terms:
        op = defining_op(leaf)
        divisor = None if op is None else _divisor(op)
        if op is None or divisor is None:
            continue
        other_terms, divided = form.without(leaf), form_of(op.operands[0])
        if op.name != Arith.FLOORDIVSI:
            alone = factor == 1 and other_terms == number(0)
            return Residue(other_terms.plus(divided, factor), abs(factor) * divisor, alone)
        if factor % divisor == 0 and other_terms.plus(divided, factor // divisor) == number(0):
            return Residue(other_terms, abs(factor), factor == -divisor)
    return Residue(form)


def _divisor(op: ir.Operation) -> int | None:
    """Return the divisor of an op, if its result is that of unbounded integers: an unsigned number
    that wrapped has another remainder, except for powers of two."""
    if op.name not in (Arith.FLOORDIVSI, Arith.REMSI, Arith.REMUI):
        return None
    divisor = constant_integer(op.operands[1])
    if divisor is None or divisor <= 0 or (op.name == Arith.REMUI and divisor & (divisor - 1)):
        return None
    return divisor


def _has_another(factor: int, distance: int, modulus: int, length: int) -> bool:
    """Return whether `factor · z + distance` is 0 (modulo `modulus`) for a z other than 0 that is a
    difference of two of `length` numbers."""
    if not modulus:
        return distance % factor == 0 and 0 < abs(distance // factor) < length
    common = gcd(factor, modulus)
    if distance % common:
        return False
    period = modulus // common
    first = -(distance // common) * pow(factor // common, -1, period) % period
    return min(first or period, period - first) < length


def _is_one_to_one(factors: dict[ir.Value, int]) -> bool:
    """Return whether a sum has one value for each choice of its terms: as digits of a number do."""
    reach = 0
    for leaf, factor in sorted(factors.items(), key=lambda term: abs(term[1])):
        span = span_of(leaf)
        length = None if span is None else span.length
        if length is None or reach >= abs(factor):
            return False
        reach += abs(factor) * max(0, length - 1)
    return True
