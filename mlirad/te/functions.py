"""Functions of scalars in tensor expressions: each is one op, or made of a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import pi

from mlirad.errors import TaichiTypeError
from mlirad.signatures import signature_of
from mlirad.te.expressions import (
    Call,
    Expr,
    Operand,
    arithmetic,
    as_float,
    boolean,
    cast,
    common,
    comparison,
    expr,
    logic,
    power,
    select,
)
from mlirad.te.places import place
from mlirad.types import f32

_SAID = {
    "sin": "The sine of radians",
    "cos": "The cosine of radians",
    "tan": "The tangent of radians",
    "asin": "The angle in radians, from -π/2 to π/2, of a sine from -1 to 1 (else NaN)",
    "acos": "The angle in radians, from 0 to π, of a cosine from -1 to 1 (else NaN)",
    "atan": "The angle in radians, from -π/2 to π/2, of a tangent",
    "atan2": "The angle of the point (x, y) in radians, from -π to π",
    "tanh": "The hyperbolic tangent",
    "exp": "The exponential function",
    "expm1": "`exp(x) - 1`, exact also where x is small",
    "log": "The natural logarithm, NaN below 0",
    "log1p": "`log(1 + x)`, exact also where x is small",
    "sqrt": "The square root, NaN below 0",
    "rsqrt": "`1 / sqrt(x)`",
    "erf": "The error function",
    "erfc": "`1 - erf(x)`, exact also where that is small",
    "floor": "The greatest integer up to x, as a float",
    "ceil": "The least integer from x on, as a float",
    "trunc": "The integer part towards 0, as a float",
    "round": "The nearest integer, as a float, halves to the even one",
}


def _of_floats(name: str, takes: str = "x") -> Callable[..., Expr]:
    """An op of floats, called as `takes` says; integers are converted to f32 first."""
    count = len(takes.split(", "))

    def function(*arguments: Operand) -> Expr:
        if len(arguments) != count:
            raise TaichiTypeError(
                f"te.{function.__name__} takes {count} argument{'s' * (count > 1)}, not "
                f"{len(arguments)}",
                place(),
            )
        made = common([as_float(expr(one) if count == 1 else one) for one in arguments])
        made = [one if one.dtype.is_float else cast(one, f32) for one in made]
        return Call(made[0].dtype, name, tuple(made))

    function.__signature__ = signature_of(f"{takes}, /")  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name.partition(".")[2].removesuffix("even")
    function.__doc__ = (
        f"{_SAID[function.__name__]}, of an expression or a number, in its type; "
        "integers are converted to f32 first. Raises TaichiTypeError for another number of "
        "arguments, and for what is no number."
    )
    return function


sin, cos, tan, asin, acos, atan = map(
    _of_floats, ("math.sin", "math.cos", "math.tan", "math.asin", "math.acos", "math.atan")
)
tanh, exp, log, sqrt, rsqrt = map(
    _of_floats, ("math.tanh", "math.exp", "math.log", "math.sqrt", "math.rsqrt")
)
expm1, log1p = map(_of_floats, ("math.expm1", "math.log1p"))
erf, erfc, floor, ceil, trunc = map(
    _of_floats, ("math.erf", "math.erfc", "math.floor", "math.ceil", "math.trunc")
)
round = _of_floats("math.roundeven")
atan2 = _of_floats("math.atan2", "y, x")


def abs(value: Operand) -> Expr:
    """The absolute value; its derivative at 0 is 0."""
    made = expr(value)
    if made.dtype.is_float:
        return Call(made.dtype, "math.absf", (made,))
    return arithmetic("max", made, -made)


def pow(base: Operand, exponent: Operand) -> Expr:
    """`base ** exponent`. Raises TaichiTypeError for what is no number."""
    return power(base, exponent)


def maximum(left: Operand, right: Operand) -> Expr:
    """The greater one, in the type that both have together; of equal numbers the second one gets
    the derivative."""
    return arithmetic("max", left, right)


def minimum(left: Operand, right: Operand) -> Expr:
    """The smaller one, in the type that both have together; of equal numbers the second one gets
    the derivative."""
    return arithmetic("min", left, right)


def clip(value: Operand, low: Operand, high: Operand) -> Expr:
    """A number between two others, in the type that the three have together; at them its derivative
    is 1, beyond them 0."""
    made, least, most = common((value, low, high))
    inside = select(comparison("gt", made, most), most, made)
    return select(comparison("lt", made, least), least, inside)


def sigmoid(value: Operand) -> Expr:
    """`1 / (1 + exp(-x))`, without overflow, and as exact for small results as for others."""
    made = as_float(expr(value))
    is_small = comparison("lt", made, 0)
    part = exp(select(is_small, made, -made))
    large = 1.0 / (1.0 + part)
    return select(is_small, part * large, large)


def relu(value: Operand) -> Expr:
    """x where it is greater than 0, else 0, in its type; its derivative at 0 is 0."""
    made = expr(value)
    return select(comparison("gt", made, 0), made, 0)


def softplus(value: Operand) -> Expr:
    """`log(1 + exp(x))`, without overflow, and as exact for small results as for others."""
    made = as_float(expr(value))
    is_large = comparison("gt", made, 0)
    return relu(made) + log1p(exp(select(is_large, -made, made)))


def gelu(value: Operand) -> Expr:
    """`x Φ(x)`, Φ the normal distribution (Hendrycks and Gimpel, 2016); integers are converted to
    f32."""
    made = as_float(expr(value))
    return 0.5 * made * erfc(made * -(2**-0.5))


def normal_density(value: Operand) -> Expr:
    """The density of the standard normal distribution at x; integers are converted to f32."""
    made = as_float(expr(value))
    return exp(made * made * -0.5) * (2 * pi) ** -0.5


def all(*conditions: Operand) -> Expr:
    """Whether all of some conditions, comparisons and booleans, hold: what a `te.select` or a
    `where=` takes. Raises TaichiTypeError for numbers, and without any condition."""
    return _joined("and", conditions)


def any(*conditions: Operand) -> Expr:
    """Whether one of some conditions holds; see `all`. Raises TaichiTypeError as it does."""
    return _joined("or", conditions)


def _joined(name: str, conditions: Sequence[Operand]) -> Expr:
    if not conditions:
        raise TaichiTypeError("no conditions: give one at least", place())
    return reduce(lambda left, right: logic(name, left, right), map(boolean, conditions))
