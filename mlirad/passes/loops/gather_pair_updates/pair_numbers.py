"""Numbers of what values are, the same for values that are equal, also of a pair and of the
exchanged one.

A number stands for a product of powers. Where floats round exactly, an op is one factor, and a
number says what is equal to the bit; else products and quotients are taken apart, and a difference
is the opposite of that of the exchanged operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir.build import is_float
from mlirad.ir.marks.rounding import FUSED, LOOSE, is_bound
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import attributes_of, constant_float, constant_integer

_COMMUTING = (Arith.ADDF, Arith.MULF, Arith.ADDI, Arith.MULI, Arith.ANDI, Arith.ORI)


class Number(NamedTuple):
    """A constant, and the powers of other factors."""

    constant: float
    powers: frozenset[tuple[int, int]]


class PairNumbers:
    """The numbers of values, as they are and with two indices exchanged."""

    def __init__(self, exchanged: Mapping[ir.Value, ir.Value], *, fast: bool) -> None:
        self._exchanged, self._fast = exchanged, fast
        self._factors: dict[object, int] = {}
        self._magnitudes: dict[Number, Number] = {}
        self._found: tuple[dict[ir.Value, Number], dict[ir.Value, Number]] = ({}, {})

    def note(self, op: ir.Operation, *, exchanged: bool) -> Number:
        """Number the result of an op."""
        numbers = [self.number_of(value, exchanged=exchanged) for value in op.operands]
        number = self._found[exchanged][op.results[0]] = self._number(op, numbers)
        return number

    def number_of(self, value: ir.Value, *, exchanged: bool) -> Number:
        """The number of a value."""
        number = self._found[exchanged].get(value)
        if number is None:
            constant = constant_float(value)
            if constant is not None and constant and isfinite(constant) and is_float(value.type):
                return Number(constant, frozenset())
            integer = constant_integer(value)
            if integer is not None:
                return self._factor((integer, str(value.type)))
            stand_in = self._exchanged.get(value, value) if exchanged else value
            number = self._found[exchanged][value] = self._factor(stand_in)
        return number

    def _factor(self, key: object) -> Number:
        return Number(1.0, frozenset({(self._factors.setdefault(key, len(self._factors)), 1)}))

    def _number(self, op: ir.Operation, numbers: list[Number]) -> Number:
        free = self._fast and not is_bound(op) and FUSED not in op.attributes
        if op.name == Arith.NEGF:
            return _scale(numbers[0], -1)
        if op.name == Arith.ADDF and numbers[0] == numbers[1]:
            return _scale(numbers[0], 2)
        if op.name in (Arith.MULF, Arith.DIVF) and free:
            divides = op.name == Arith.DIVF
            quotient = _product(numbers[0], self._inverse(numbers[1]) if divides else numbers[1])
            if quotient.constant and isfinite(quotient.constant):
                return quotient
        if op.name in (Arith.MULF, Math.ABSF) and len(set(numbers)) == 1:
            # the same of an operand and of its opposite, to the bit
            return self._factor(self._key(op, list(map(self._magnitude_of, numbers))))
        if op.name == Arith.SUBF:
            return self._difference(op, numbers, free)
        return self._factor(self._key(op, numbers))

    def _difference(self, op: ir.Operation, numbers: list[Number], free: bool) -> Number:
        """The number of a difference: that of exchanged operands is the opposite, but for the sign
        of 0."""
        in_order = sorted(numbers, key=self._rank)
        magnitude = self._factor(self._key(op, in_order))
        if free:
            return magnitude if in_order == numbers else _scale(magnitude, -1)
        number = self._factor((self._key(op, numbers), "signed"))
        self._magnitudes[number] = magnitude
        return number

    def _magnitude_of(self, number: Number) -> Number:
        return self._magnitudes.get(number, Number(abs(number.constant), number.powers))

    def _inverse(self, number: Number) -> Number:
        """Return the factor that replaces a quotient; it cancels nothing, for a factor may be 0."""
        powers = frozenset(
            (self._factors.setdefault(("inverse", factor), len(self._factors)), times)
            for factor, times in number.powers
        )
        return Number(1 / number.constant, powers)

    def _rank(self, number: Number) -> int:
        return self._factors.setdefault(number, len(self._factors))

    def _key(self, op: ir.Operation, numbers: list[Number]) -> object:
        """Return a key that operations with the same result have in common."""
        attributes = frozenset(
            (name, str(value)) for name, value in attributes_of(op).items() if name != LOOSE
        )
        ranks = [self._rank(number) for number in numbers]
        if op.name in _COMMUTING:
            ranks.sort()
        return op.name, tuple(ranks), str(op.results[0].type), attributes


def _scale(number: Number, factor: int) -> Number:
    return Number(number.constant * factor, number.powers)


def _product(left: Number, right: Number) -> Number:
    powers = dict(left.powers)
    for factor, times in right.powers:
        powers[factor] = powers.get(factor, 0) + times
    return Number(left.constant * right.constant, frozenset(powers.items()))
