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
    """Return the absolute value. Its derivative at 0 is 0."""
    number = expr(value)
    if number.dtype.is_float:
        return Call(number.dtype, Math.ABSF, (number,))
    return arithmetic("max", number, -number)


@check_arguments
def cast(value: Operand, dtype: TypeLike) -> Expr:
    """Convert a number to another scalar type: `te.cast(x[i], ti.f64)`. Floats are truncated
    towards 0 for integer types. Raises TaichiTypeError if `dtype` is not a type, or cannot hold a
    constant."""
    return cast_of(value, scalar_type(dtype, "cast: dtype"))


@check_arguments
def select(condition: Condition, then: Operand, otherwise: Operand) -> Expr:
    """Return `then` if a condition holds, and `otherwise` if not, in the common type. The operand
    that is not chosen is not evaluated, and reads nothing. Raises TaichiTypeError if the condition
    is a number."""
    return select_of(condition, then, otherwise)


@check_arguments
def pow(base: Operand, exponent: Operand) -> Expr:
    """Return `base ** exponent`. Raises TaichiTypeError if an argument is not a number."""
    return power(base, exponent)


@check_arguments
def maximum(left: Operand, right: Operand) -> Expr:
    """Return the greater of two numbers, in the common type. In a tie, the second one gets the
    derivative."""
    return arithmetic("max", left, right)


@check_arguments
def minimum(left: Operand, right: Operand) -> Expr:
    """Return the smaller of two numbers, in the common type. In a tie, the second one gets the
    derivative."""
    return arithmetic("min", left, right)


@check_arguments
def clip(value: Operand, low: Operand, high: Operand) -> Expr:
    """Return a number limited to the range from `low` to `high`, in the common type. The derivative
    is 1 at the bounds and 0 beyond them."""
    number, least, most = common((value, low, high))
    inside = select_of(comparison("gt", number, most), most, number)
    return select_of(comparison("lt", number, least), least, inside)


@check_arguments
def sigmoid(value: Operand) -> Expr:
    """Return `1 / (1 + exp(-x))`, without overflow, and with full relative accuracy for small
    results."""
    number = as_float(expr(value))
    is_small = comparison("lt", number, 0)
    power_of_e = exp(select_of(is_small, number, -number))
    large = 1.0 / (1.0 + power_of_e)
    return select_of(is_small, power_of_e * large, large)


@check_arguments
def relu(value: Operand) -> Expr:
    """Return x if it is greater than 0, otherwise 0, in the type of x. The derivative at 0 is 0."""
    number = expr(value)
    return select_of(comparison("gt", number, 0), number, 0)


@check_arguments
def softplus(value: Operand) -> Expr:
    """Return `log(1 + exp(x))`, without overflow, and with full relative accuracy for small
    results."""
    number = as_float(expr(value))
    is_large = comparison("gt", number, 0)
    return relu(number) + log1p(exp(select_of(is_large, -number, number)))


@check_arguments
def gelu(value: Operand) -> Expr:
    """Return `x Φ(x)`, where Φ is the normal distribution function (Hendrycks and Gimpel, 2016).
    Integers are converted to floats."""
    number = as_float(expr(value))
    return 0.5 * number * erfc(number * -(2**-0.5))


@check_arguments
def normal_density(value: Operand) -> Expr:
    """Return the density of the standard normal distribution at x. Integers are converted to
    floats."""
    number = as_float(expr(value))
    return exp(number * number * -0.5) * (2 * pi) ** -0.5


@check_arguments
def all(*conditions: Condition) -> Expr:
    """Return whether all conditions (comparisons and booleans) hold, for `te.select` or `where=`.
    Raises TaichiTypeError for a number, and if there is no condition."""
    return _join("and", "all", conditions)


@check_arguments
def any(*conditions: Condition) -> Expr:
    """Return whether at least one condition holds. Raises the errors of `all`."""
    return _join("or", "any", conditions)


def _join(name: str, function: str, conditions: Sequence[Condition]) -> Expr:
    if not conditions:
        refuse(function, "conditions", "is empty: expected at least one condition")
    return reduce(lambda left, right: logic(name, left, right), map(boolean, conditions))
