"""Facts on integers: `L = 0`, `L ≠ 0`, `L ≥ 0` of sums of named unknowns, and whether they
contradict one another.

Seen are empty ranges, remainders that differ, and what follows where an equation gives an unknown.
What is not seen counts as possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from enum import Enum
from math import gcd
from typing import TypeAlias

import msgspec

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.bindings import ir


class OfSide(msgspec.Struct, frozen=True):
    """A value as one of two accesses, number 0 or 1, sees it."""

    value: ir.Value
    side: int


class Quotient(msgspec.Struct, frozen=True):
    """A number divided by another, rounded down."""

    dividend: Sum
    divisor: int


class OperationResult(msgspec.Struct, frozen=True):
    """The result of an operation, described by name and details, on numbers."""

    op: str
    details: Hashable
    operands: tuple[Sum, ...]


Unknown: TypeAlias = ir.Value | OfSide | Quotient | OperationResult  # equal ones are equal numbers
Sum: TypeAlias = Linear[Unknown]


class Relation(Enum):
    """The relation of a sum to 0."""

    EQUAL = "="
    DIFFERENT = "≠"
    NOT_BELOW = "≥"


class Fact(msgspec.Struct, frozen=True):
    """`sum = 0`, `sum ≠ 0` or `sum ≥ 0`."""

    relation: Relation
    sum: Sum

    @staticmethod
    def equal(sum: Sum) -> Fact:
        """`sum = 0`."""
        return Fact(Relation.EQUAL, sum)

    @staticmethod
    def different(sum: Sum) -> Fact:
        """`sum ≠ 0`."""
        return Fact(Relation.DIFFERENT, sum)

    @staticmethod
    def not_below(sum: Sum) -> Fact:
        """`sum ≥ 0`."""
        return Fact(Relation.NOT_BELOW, sum)


Terms: TypeAlias = frozenset[tuple[Unknown, int]]


class _Range(msgspec.Struct):
    low: int | None = None
    high: int | None = None
    never: set[int] = msgspec.field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        """Return whether no integer is left, as far as it is easily seen."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and self.low in self.never)


def contradict(facts: list[Fact]) -> bool:
    """Return whether facts cannot hold together, as far as it is easily seen."""
    facts = _solve_equations([_parity(fact) for fact in facts])
    ranges: dict[Terms, _Range] = {}
    remainders: dict[tuple[Terms, int], int] = {}
    for fact in facts:
        if fact.relation is Relation.EQUAL and any(
            not _agrees(remainders, fact.sum, m) for m in _moduli(fact.sum)
        ):
            return True
        _narrow(ranges, fact)
    return any(range_.is_empty for range_ in ranges.values())


def _parity(fact: Fact) -> Fact:
    """Return the fact that a number which is not one of two remainders is the other."""
    for name, factor in fact.sum.terms:
        if fact.relation is Relation.DIFFERENT and abs(factor) == 2 and isinstance(name, Quotient):
            other_terms = fact.sum.plus(unknown(name), -factor).plus(
                name.dividend, 1 if factor > 0 else -1
            )
            sign = 1 if factor < 0 else -1
            remainder = -sign * other_terms.constant  # that it is not, for then the sum is 0
            if not other_terms.terms and remainder in (0, 1):
                return Fact.equal(
                    fact.sum.plus(number(-other_terms.constant - sign * (1 - remainder)))
                )
    return fact


def _solve_equations(facts: list[Fact]) -> list[Fact]:
    """Facts without the names that an equation gives."""
    facts = list(facts)
    for position in range(len(facts)):
        fact = facts[position]
        if fact.relation is not Relation.EQUAL:
            continue
        name = next((n for n, f in fact.sum.terms if abs(f) == 1 and isinstance(n, OfSide)), None)
        if name is not None:
            coefficient = fact.sum.coefficient(name)
            facts = [
                f
                if k == position
                else Fact(f.relation, f.sum.plus(fact.sum, -coefficient * f.sum.coefficient(name)))
                for k, f in enumerate(facts)
            ]
    return facts


def _moduli(total: Sum) -> Iterator[int]:
    """Numbers by which an equation may be taken: the factors of quotients."""
    yield from {abs(f) for n, f in total.terms if abs(f) > 1}
    if not total.terms:
        yield 0


def _agrees(remainders: dict[tuple[Terms, int], int], total: Sum, modulus: int) -> bool:
    """Note what an equation says of remainders; False where it was said otherwise."""
    if modulus == 0:
        return total.constant == 0
    terms = frozenset((n, f % modulus) for n, f in total.terms if f % modulus)
    opposite = frozenset((n, -f % modulus) for n, f in terms)
    remainder = -total.constant % modulus
    if not terms:
        return remainder == 0
    if (opposite, modulus) in remainders:
        terms, remainder = opposite, -remainder % modulus
    return remainders.setdefault((terms, modulus), remainder) == remainder


def _narrow(ranges: dict[Terms, _Range], fact: Fact) -> None:
    """Note what a fact says of the values of its sum without the constant."""
    shared = gcd(*[f for _, f in fact.sum.terms]) if fact.sum.terms else 1
    terms, sign = fact.sum.terms, 1
    opposite = frozenset((n, -f) for n, f in terms)
    if opposite in ranges:
        terms, sign = opposite, -1
    range_ = ranges.setdefault(terms, _Range(*((0, 0) if not terms else (None, None))))
    value = -sign * fact.sum.constant
    if fact.relation is Relation.DIFFERENT:
        range_.never.add(value)
        return
    if fact.relation is Relation.EQUAL and fact.sum.constant % shared:
        range_.low, range_.high = 1, 0
        return
    if fact.relation is Relation.EQUAL or sign > 0:
        range_.low = value if range_.low is None else max(range_.low, value)
    if fact.relation is Relation.EQUAL or sign < 0:
        range_.high = value if range_.high is None else min(range_.high, value)
