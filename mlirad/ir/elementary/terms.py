"""The little algebra in which derivative rules are written, and its translation to ops.

A rule gives one term for each operand: the part of the result's tangent that this operand's tangent
`t` makes. Terms are linear in `t`. Forward mode evaluates them at the operand's tangent; reverse
mode, where the transpose of multiplication by a number is that multiplication, at the result's
adjoint. Other leaves are the primal values of the op: `x`, `y`, `z` for its operands and `r` for
its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math


class Term:
    """An expression; operators build larger ones."""

    def __add__(self, other: Term | float) -> Term:
        return Apply(Arith.ADDF, (self, as_term(other)))

    def __radd__(self, other: float) -> Term:
        return Apply(Arith.ADDF, (as_term(other), self))

    def __sub__(self, other: Term | float) -> Term:
        return Apply(Arith.SUBF, (self, as_term(other)))

    def __rsub__(self, other: float) -> Term:
        return Apply(Arith.SUBF, (as_term(other), self))

    def __mul__(self, other: Term | float) -> Term:
        return Apply(Arith.MULF, (self, as_term(other)))

    def __rmul__(self, other: float) -> Term:
        return Apply(Arith.MULF, (as_term(other), self))

    def __truediv__(self, other: Term | float) -> Term:
        return Apply(Arith.DIVF, (self, as_term(other)))

    def __rtruediv__(self, other: float) -> Term:
        return Apply(Arith.DIVF, (as_term(other), self))

    def __neg__(self) -> Term:
        return Apply(Arith.NEGF, (self,))


class Tangent(Term, msgspec.Struct, frozen=True):
    """The tangent or adjoint that a rule is linear in."""


class Operand(Term, msgspec.Struct, frozen=True):
    """The primal value of an operand."""

    position: int


class Result(Term, msgspec.Struct, frozen=True):
    """The primal value of the result."""


class Constant(Term, msgspec.Struct, frozen=True):
    """A number of the op's type."""

    value: float


class Apply(Term, msgspec.Struct, frozen=True):
    """An op on terms."""

    name: str
    arguments: tuple[Term, ...]


class Where(Term, msgspec.Struct, frozen=True):
    """`then` where the comparison of `left` and `right` holds, else `otherwise`."""

    kind: int
    left: Term
    right: Term
    then: Term
    otherwise: Term


class Quiet(Term, msgspec.Struct, frozen=True):
    """`term`, but 0 where the tangent is 0 and the term is NaN. Its derivative is that of `term`,
    also at a tangent of 0."""

    term: Term


class Choose(Term, msgspec.Struct, frozen=True):
    """`then` where a boolean operand holds, else `otherwise`."""

    condition: Operand
    then: Term
    otherwise: Term


class Convert(Term, msgspec.Struct, frozen=True):
    """The tangent in the type it flows to."""


t, x, y, z, r = Tangent(), Operand(0), Operand(1), Operand(2), Result()
convert = Convert()


def as_term(value: Term | float) -> Term:
    """A number as a term."""
    return value if isinstance(value, Term) else Constant(float(value))


def where(
    kind: int, left: Term, right: Term | float, then: Term | float, otherwise: Term | float
) -> Term:
    """A choice by comparison; `kind` is an ordered float predicate."""
    return Where(kind, left, as_term(right), as_term(then), as_term(otherwise))


def guard_term(term: Term, *, again: bool) -> Term:
    """A term that may be NaN at a tangent of 0, and is then 0; differentiated `again`, it keeps its
    derivative there."""
    return Quiet(term) if again else where(b.OEQ, t, 0.0, 0.0, term)


def choose(condition: Operand, then: Term | float, otherwise: Term | float) -> Term:
    """A choice by a boolean operand."""
    return Choose(condition, as_term(then), as_term(otherwise))


def function(name: str) -> Callable[[Term], Term]:
    """An op of one argument."""
    return lambda argument: Apply(name, (argument,))


sin, cos, sinh, cosh, exp, log, sqrt, floor, magnitude = (
    function(f"math.{name}")
    for name in ("sin", "cos", "sinh", "cosh", "exp", "log", "sqrt", "floor", "absf")
)


def power(base: Term, exponent: Term | float) -> Term:
    """`base ** exponent`."""
    return Apply(Math.POWF, (base, as_term(exponent)))


def copysign(size: Term | float, sign: Term) -> Term:
    """The size of one number with the sign of another."""
    return Apply(Math.COPYSIGN, (as_term(size), sign))


def leaves(term: Term) -> Iterator[Operand | Result]:
    """The primal values that a term reads."""
    if isinstance(term, Operand | Result):
        yield term
    elif isinstance(term, Apply):
        for argument in term.arguments:
            yield from leaves(argument)
    elif isinstance(term, Where):
        for argument in (term.left, term.right, term.then, term.otherwise):
            yield from leaves(argument)
    elif isinstance(term, Quiet):
        yield from leaves(term.term)
    elif isinstance(term, Choose):
        yield term.condition
        yield from leaves(term.then)
        yield from leaves(term.otherwise)


class Values(msgspec.Struct):
    """Values of the leaves of a rule at one op."""

    tangent: ir.Value
    operand: Callable[[int], ir.Value]
    result: Callable[[], ir.Value]
    type: ir.Type  # of the op's floats
    target: ir.Type  # of what the tangent flows to


def emit(term: Term, values: Values) -> ir.Value:
    """Create the ops of a term."""
    if isinstance(term, Tangent):
        return values.tangent
    if isinstance(term, Operand):
        return values.operand(term.position)
    if isinstance(term, Result):
        return values.result()
    if isinstance(term, Constant):
        return b.number(term.value, values.type)
    if isinstance(term, Convert):
        return convert_float(values.tangent, values.target)
    if isinstance(term, Where):
        test = b.compare_floats(term.kind, emit(term.left, values), emit(term.right, values))
        return b.select(test, emit(term.then, values), emit(term.otherwise, values))
    if isinstance(term, Quiet):
        return _quiet(emit(term.term, values), values.tangent)
    if isinstance(term, Choose):
        return b.select(
            values.operand(term.condition.position),
            emit(term.then, values),
            emit(term.otherwise, values),
        )
    assert isinstance(term, Apply), term
    return b.make(term.name, values.type, [emit(argument, values) for argument in term.arguments])


def expand(term: Term, operands: Sequence[ir.Value]) -> ir.Value:
    """Create the ops of a term that no tangent stands in."""
    type_ = operands[0].type

    def refuse() -> ir.Value:
        raise AssertionError("an expansion reads its own result")

    return emit(term, Values(operands[0], operands.__getitem__, refuse, type_, type_))


def product_with_zeros(left: ir.Value, right: ir.Value) -> ir.Value:
    """A product in which 0 of an infinity is 0; where it is differentiated, a product."""
    value = b.mulf(left, right)
    return _quiet(_quiet(value, left), right)


def _quiet(value: ir.Value, tangent: ir.Value) -> ir.Value:
    zero = b.number(0.0, tangent.type)
    test = b.andi(b.compare_floats(b.UNO, value, value), b.compare_floats(b.OEQ, tangent, zero))
    return b.select(test, b.number(0.0, value.type), value)


def convert_float(value: ir.Value, target: ir.Type) -> ir.Value:
    """A float in another float type."""
    if value.type == target:
        return value
    wider = ir.FloatType(target).width > ir.FloatType(value.type).width
    return (b.extf if wider else b.truncf)(value, target)
