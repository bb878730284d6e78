"""The operands whose greatest, or least, is the bound of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from mlirad.analysis.linear import Linear, linear_form
from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer, defining_op

SHORT = 5  # values between two ends that move along: a window
QUOTIENTS = (Arith.CEILDIVSI, Arith.FLOORDIVSI)


class Ends(NamedTuple):
    """A loop goes from the greatest of some values to the least of others, which it does not
    reach."""

    lower: Sequence[ir.Value]
    upper: Sequence[ir.Value]


def ends_of(loop: ir.Operation) -> Ends:
    """The ends of a `for` loop."""
    low, high = loop.operands[0], loop.operands[1]
    return Ends(
        list(_operands_through(low, Arith.MAXSI)), list(_operands_through(high, Arith.MINSI))
    )


def _operands_through(value: ir.Value, name: str) -> Iterator[ir.Value]:
    op = defining_op(value)
    if op is not None and op.name == name:
        for operand in op.operands:
            yield from _operands_through(operand, name)
    else:
        yield value


class Quotient(msgspec.Struct, frozen=True):
    """A sum divided by a number, and rounded: up, or down."""

    sum: Linear[ir.Value]
    divisor: int
    is_up: bool

    def whole_sum(self) -> Linear[ir.Value] | None:
        """The sum that it is, where all of its terms are multiples of the divisor."""
        if any(factor % self.divisor for _, factor in self.sum.terms):
            return None
        terms = frozenset((name, factor // self.divisor) for name, factor in self.sum.terms)
        constant = self.sum.constant
        rounded = -(-constant // self.divisor) if self.is_up else constant // self.divisor
        return Linear(terms, rounded)


def quotient_of(value: ir.Value) -> Quotient | None:
    """A value as a quotient by a positive number; None for other values."""
    op = defining_op(value)
    if op is None or op.name not in QUOTIENTS:
        return None
    divisor = constant_integer(op.operands[1])
    if divisor is None or divisor <= 0:
        return None
    return Quotient(linear_form(op.operands[0]), divisor, op.name == QUOTIENTS[0])


def end_form(value: ir.Value) -> Linear[ir.Value]:
    """A value as a sum, also where it is a quotient of multiples."""
    quotient = quotient_of(value)
    form = None if quotient is None else quotient.whole_sum()
    return linear_form(value) if form is None else form
