"""Sums `constant + Σ coefficient · name`: what analyses know of indices, bounds and conditions.

Names are whatever the asker tells numbers apart by: MLIR values, or the numbers of a launch's
arguments. Sums are tuples, because an analysis makes and compares very many of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer

Name = TypeVar("Name", bound=Hashable)
Other = TypeVar("Other", bound=Hashable)
Asked = TypeVar("Asked", contravariant=True)
Intervals = Mapping[Name, tuple[int, int]]  # the least and the greatest value of some names


class Linear(NamedTuple, Generic[Name]):
    """A sum in its normal form, without coefficients 0: equal sums compare equal."""

    terms: frozenset[tuple[Name, int]]
    constant: int

    @property
    def names(self) -> Iterator[Name]:
        """The names with a coefficient."""
        return (name for name, _ in self.terms)

    def coefficient(self, name: Name) -> int:
        """The factor of a name; 0 where it does not occur."""
        return next((factor for other, factor in self.terms if other == name), 0)

    def without(self, name: Name) -> Linear[Name]:
        """The rest of the sum."""
        return Linear(frozenset(term for term in self.terms if term[0] != name), self.constant)

    def plus(self, other: Linear[Name], factor: int = 1) -> Linear[Name]:
        """A sum and a multiple of another."""
        constant = self.constant + factor * other.constant
        if not other.terms or not factor:
            return Linear(self.terms, constant)
        if not self.terms and factor == 1:
            return Linear(other.terms, constant)
        factors = dict(self.terms)
        for name, factor_of_name in other.terms:
            factors[name] = factors.get(name, 0) + factor * factor_of_name
        return Linear(frozenset((n, f) for n, f in factors.items() if f), constant)

    def times(self, factor: int) -> Linear[Name]:
        """A multiple."""
        if not factor:
            return number(0)
        return Linear(frozenset((n, f * factor) for n, f in self.terms), self.constant * factor)

    def substitute(self, sums: Mapping[Name, Linear[Other]]) -> Linear[Other]:
        """The sum with another sum for each name."""
        total: Linear[Other] = number(self.constant)
        for name, factor in self.terms:
            total = total.plus(sums[name], factor)
        return total


def number(value: int) -> Linear[Name]:
    """A sum that is known."""
    return Linear(frozenset(), value)


def unknown(name: Name) -> Linear[Name]:
    """A sum of one name."""
    return Linear(frozenset({(name, 1)}), 0)


class Values(Protocol[Asked]):
    """The numbers of the names of sums: a mapping, or a sequence, whose positions are names."""

    def __getitem__(self, name: Asked, /) -> int: ...


def evaluate_sum(total: Linear[Name], values: Values[Name]) -> int:
    """The number that a sum is for the values of its names."""
    return total.constant + sum(factor * values[name] for name, factor in total.terms)


def extent_of(total: Linear[Name], intervals: Intervals[Name]) -> tuple[int, int] | None:
    """The least and the greatest value of a sum; None where those of its names are not known."""
    low = high = total.constant
    for name, factor in total.terms:
        if name not in intervals:
            return None
        ends = sorted(factor * end for end in intervals[name])
        low, high = low + ends[0], high + ends[1]
    return low, high


CASTS = (Arith.INDEX_CAST, Arith.INDEX_CASTUI, Arith.EXTSI, Arith.TRUNCI)


def linear_form(value: ir.Value, depth: int = 16) -> Linear[ir.Value]:
    """An integer as a sum of values, seen through casts and arithmetic; what cannot be looked into
    is a name, and so is a number of fewer than 32 bits, of which sums wrap around."""
    constant = constant_integer(value)
    if constant is not None:
        return number(constant)
    if isinstance(value, ir.BlockArgument) or depth == 0 or _is_narrow(value.type):
        return unknown(value)
    op = value.owner.operation
    if op.name in CASTS:
        return linear_form(op.operands[0], depth - 1)
    if op.name in (Arith.ADDI, Arith.SUBI, Arith.MULI):
        left, right = (linear_form(operand, depth - 1) for operand in op.operands)
        if op.name != Arith.MULI:
            return left.plus(right, 1 if op.name == Arith.ADDI else -1)
        if not right.terms:
            return left.times(right.constant)
        if not left.terms:
            return right.times(left.constant)
    return unknown(value)


def build_sum(total: Linear[ir.Value], values: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """Make an index of a sum at the insertion point, of values that stand for some of its names."""
    result: ir.Value | None = None
    for leaf, factor in sorted(total.terms, key=lambda term: term[1] < 0):
        term = values.get(leaf, leaf)
        if not isinstance(term.type, ir.IndexType):
            term = b.to_index(term)
        scaled = term if abs(factor) == 1 else b.mul(term, b.index(abs(factor)))
        if result is None:
            result = scaled if factor > 0 else b.sub(b.index(0), scaled)
        else:
            result = b.add(result, scaled) if factor > 0 else b.sub(result, scaled)
    if result is None or total.constant:
        constant = b.index(abs(total.constant)) if result else b.index(total.constant)
        if result is None:
            return constant
        return b.add(result, constant) if total.constant > 0 else b.sub(result, constant)
    return result


def _is_narrow(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width < 32


class LinearForms:
    """The sums that the values of one function are, each looked at once."""

    def __init__(self) -> None:
        self._found: dict[ir.Value, Linear[ir.Value]] = {}

    def form_of(self, value: ir.Value) -> Linear[ir.Value]:
        """The sum that a value is."""
        form = self._found.get(value)
        if form is None:
            form = self._found[value] = linear_form(value)
        return form
