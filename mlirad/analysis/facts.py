"""Facts on integers: `L = 0`, `L ≠ 0`, `L ≥ 0` of sums of named unknowns, and whether they
contradict one another.

Seen are empty ranges, remainders that differ, and what follows where an equation gives an unknown.
What is not seen counts as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from mlirad.bindings import ir


@dataclass(frozen=True)
class Sum:
    """`constant + Σ factor · name`."""

    terms: frozenset[tuple[Any, int]]
    constant: int

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """A sum and a multiple of another."""
        factors = dict(self.terms)
        for name, own in other.terms:
            factors[name] = factors.get(name, 0) + factor * own
        return Sum(
            frozenset((n, f) for n, f in factors.items() if f),
            self.constant + factor * other.constant,
        )

    def factor(self, name: Any) -> int:
        """The factor of a name; 0 where it does not occur."""
        return next((own for other, own in self.terms if other == name), 0)


@dataclass(frozen=True)
class Fact:
    """`sum = 0`, `sum ≠ 0` or `sum ≥ 0`."""

    kind: str
    sum: Sum


def known(value: int) -> Sum:
    """A number."""
    return Sum(frozenset(), value)


def unknown(name: Any) -> Sum:
    """A named number."""
    return Sum(frozenset({(name, 1)}), 0)


@dataclass
class _Range:
    low: int | None = None
    high: int | None = None
    never: set[int] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        """Whether no integer is left, as far as it is easily seen."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.high or (self.low == self.high and self.low in self.never)


def contradict(facts: list[Fact]) -> bool:
    """Whether facts cannot hold together, as far as it is easily seen."""
    facts = _solved([_parity(fact) for fact in facts])
    ranges: dict[frozenset[tuple[Any, int]], _Range] = {}
    remainders: dict[tuple[frozenset[tuple[Any, int]], int], int] = {}
    for fact in facts:
        if fact.kind == "eq" and any(
            not _agrees(remainders, fact.sum, m) for m in _moduli(fact.sum)
        ):
            return True
        _narrow(ranges, fact)
    return any(one.is_empty for one in ranges.values())


def _parity(fact: Fact) -> Fact:
    """What is not one of two remainders is the other."""
    for name, factor in fact.sum.terms:
        if (
            fact.kind == "ne"
            and abs(factor) == 2
            and isinstance(name, tuple)
            and name[0] == "quotient"
        ):
            rest = fact.sum.plus(unknown(name), -factor).plus(name[1], 1 if factor > 0 else -1)
            sign = 1 if factor < 0 else -1
            if not rest.terms and -sign * rest.constant in (
                0,
                1,
            ):  # sign · remainder + constant is not 0
                other = 1 + sign * rest.constant
                return Fact("eq", fact.sum.plus(known(-rest.constant - sign * other)))
    return fact


def _solved(facts: list[Fact]) -> list[Fact]:
    """Facts without the names that an equation gives."""
    facts = list(facts)
    for position in range(len(facts)):
        fact = facts[position]
        if fact.kind != "eq":
            continue
        name = next((n for n, f in fact.sum.terms if abs(f) == 1 and _is_of_one_side(n)), None)
        if name is not None:
            own = fact.sum.factor(name)
            facts = [
                f
                if k == position
                else Fact(f.kind, f.sum.plus(fact.sum, -own * f.sum.factor(name)))
                for k, f in enumerate(facts)
            ]
    return facts


def _is_of_one_side(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 2 and isinstance(name[0], ir.Value)


def _moduli(total: Sum) -> Iterator[int]:
    """Numbers by which an equation may be taken: the factors of quotients."""
    yield from {abs(f) for n, f in total.terms if abs(f) > 1}
    if not total.terms:
        yield 0


def _agrees(
    remainders: dict[tuple[frozenset[tuple[Any, int]], int], int], total: Sum, modulus: int
) -> bool:
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


def _narrow(ranges: dict[frozenset[tuple[Any, int]], _Range], fact: Fact) -> None:
    """Note what a fact says of the values of its sum without the constant."""
    shared = gcd(*[f for _, f in fact.sum.terms]) if fact.sum.terms else 1
    terms, sign = fact.sum.terms, 1
    opposite = frozenset((n, -f) for n, f in terms)
    if opposite in ranges:
        terms, sign = opposite, -1
    one = ranges.setdefault(terms, _Range(*((0, 0) if not terms else (None, None))))
    value = -sign * fact.sum.constant
    if fact.kind == "ne":
        one.never.add(value)
        return
    if fact.kind == "eq" and fact.sum.constant % shared:
        one.low, one.high = 1, 0
        return
    if fact.kind == "eq" or sign > 0:
        one.low = value if one.low is None else max(one.low, value)
    if fact.kind == "eq" or sign < 0:
        one.high = value if one.high is None else min(one.high, value)
