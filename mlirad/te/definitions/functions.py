"""Functions of scalars in tensor expressions that are made of several ops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import pi

from mlirad.ir.ops import Math
from mlirad.te.definitions.arguments import check_arguments, refuse
from mlirad.te.definitions.elementary import erfc, exp, log1p
from mlirad.te.expressions import (
    Call,
    Condition,
    Expr,
    Operand,
    arithmetic,
    as_float,
    boolean,
    common,
    comparison,
    expr,
    logic,
    power,
    scalar_type,
)
from mlirad.te.expressions import cast as cast_of
from mlirad.te.expressions import select as select_of
from mlirad.types import TypeLike


@check_arguments
def abs(value: Operand) -> Expr:
    """The absolute value; its derivative at 0 is 0."""
    number = expr(value)
    if number.dtype.is_float:
        return Call(number.dtype, Math.ABSF, (number,))
    return arithmetic("max", number, -number)


@check_arguments
def cast(value: Operand, dtype: TypeLike) -> Expr:
    """A number in another scalar type (`te.cast(x[i], ti.f64)`); from floats to integers towards 0.
    Raises TaichiTypeError for what is no type, and for a number that the type has not."""
    return cast_of(value, scalar_type(dtype, "cast: dtype"))


@check_arguments
def select(condition: Condition, then: Operand, otherwise: Operand) -> Expr:
    """A number chosen by a condition, in the type that both have together; what is not chosen is
    not computed, and reads nothing. Raises TaichiTypeError for a number as the condition."""
    return select_of(condition, then, otherwise)


@check_arguments
def pow(base: Operand, exponent: Operand) -> Expr:
    """`base ** exponent`. Raises TaichiTypeError for what is no number."""
    return power(base, exponent)


@check_arguments
def maximum(left: Operand, right: Operand) -> Expr:
    """The greater one, in the type that both have together; of equal numbers the second one gets
    the derivative."""
    return arithmetic("max", left, right)


@check_arguments
def minimum(left: Operand, right: Operand) -> Expr:
    """The smaller one, in the type that both have together; of equal numbers the second one gets
    the derivative."""
    return arithmetic("min", left, right)


@check_arguments
def clip(value: Operand, low: Operand, high: Operand) -> Expr:
    """A number between two others, in the type that the three have together; at them its derivative
    is 1, beyond them 0."""
    number, least, most = common((value, low, high))
    inside = select_of(comparison("gt", number, most), most, number)
    return select_of(comparison("lt", number, least), least, inside)


@check_arguments
def sigmoid(value: Operand) -> Expr:
    """`1 / (1 + exp(-x))`, without overflow, and as exact for small results as for others."""
    number = as_float(expr(value))
    is_small = comparison("lt", number, 0)
    power_of_e = exp(select_of(is_small, number, -number))
    large = 1.0 / (1.0 + power_of_e)
    return select_of(is_small, power_of_e * large, large)


@check_arguments
def relu(value: Operand) -> Expr:
    """x where it is greater than 0, else 0, in its type; its derivative at 0 is 0."""
    number = expr(value)
    return select_of(comparison("gt", number, 0), number, 0)


@check_arguments
def softplus(value: Operand) -> Expr:
    """`log(1 + exp(x))`, without overflow, and as exact for small results as for others."""
    number = as_float(expr(value))
    is_large = comparison("gt", number, 0)
    return relu(number) + log1p(exp(select_of(is_large, -number, number)))


@check_arguments
def gelu(value: Operand) -> Expr:
    """`x Φ(x)`, Φ the normal distribution (Hendrycks and Gimpel, 2016); integers become floats."""
    number = as_float(expr(value))
    return 0.5 * number * erfc(number * -(2**-0.5))


@check_arguments
def normal_density(value: Operand) -> Expr:
    """The density of the standard normal distribution at x; integers become floats."""
    number = as_float(expr(value))
    return exp(number * number * -0.5) * (2 * pi) ** -0.5


@check_arguments
def all(*conditions: Condition) -> Expr:
    """Return whether all of some conditions, comparisons and booleans, hold: what a `te.select` or
    a `where=` takes. Raises TaichiTypeError for numbers, and without any condition."""
    return _join("and", "all", conditions)


@check_arguments
def any(*conditions: Condition) -> Expr:
    """Return whether one of some conditions holds; see `all`. Raises TaichiTypeError as it does."""
    return _join("or", "any", conditions)


def _join(name: str, function: str, conditions: Sequence[Condition]) -> Expr:
    if not conditions:
        refuse(function, "conditions", "are none: give one at least")
    return reduce(lambda left, right: logic(name, left, right), map(boolean, conditions))
