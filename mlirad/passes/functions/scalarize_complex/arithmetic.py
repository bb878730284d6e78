"""Complex functions by real ones, so that their derivatives are right wherever the function has
one: no branch that is not taken counts, and a scale drops out of a derivative as of the value.

Values are those of C, except that an infinite operand or a division by 0 may give what is not a
number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.function import value_of
from mlirad.ir.elementary.table import ELEMENTARY
from mlirad.ir.ops import Complex

Pair: TypeAlias = tuple[ir.Value, ir.Value]
_FUNCTIONS = {function.name: function for function in ELEMENTARY}


def apply(name: str, *operands: ir.Value) -> ir.Value:
    """Make the op, or the ops, of a function of floats."""
    return value_of(_FUNCTIONS[name], operands)


def _number(value: float, like: ir.Value) -> ir.Value:
    return b.number(value, like.type)


def _square(x: ir.Value) -> ir.Value:
    return b.mulf(x, x)


def magnitude(z: Pair) -> ir.Value:
    """Return the absolute value, also if a square overflows."""
    return apply("hypot", *z)


def angle(z: Pair) -> ir.Value:
    """Return the angle, from -π to π."""
    return apply("atan2", z[1], z[0])


def add(z: Pair, w: Pair) -> Pair:
    """Return a sum."""
    return b.addf(z[0], w[0]), b.addf(z[1], w[1])


def sub(z: Pair, w: Pair) -> Pair:
    """Return a difference."""
    return b.subf(z[0], w[0]), b.subf(z[1], w[1])


def mul(z: Pair, w: Pair) -> Pair:
    """Return a product."""
    (x, y), (u, v) = z, w
    real = b.subf(b.mulf(x, u), b.mulf(y, v))
    return real, b.addf(b.mulf(y, u), b.mulf(x, v))


def scaled(z: Pair, factor: ir.Value) -> Pair:
    """Return a product with a real number."""
    return b.mulf(z[0], factor), b.mulf(z[1], factor)


def div(z: Pair, w: Pair) -> Pair:
    """Return a quotient, of numbers scaled by the larger part of the divisor."""
    u, v = map(b.absf, w)
    larger = b.select(b.compare_floats(b.OLT, u, v), v, u)
    zero = b.compare_floats(b.OEQ, larger, _number(0.0, u))
    scale = b.select(zero, _number(1.0, u), larger)
    unit = b.divf(w[0], scale), b.divf(w[1], scale)
    size = b.addf(_square(unit[0]), _square(unit[1]))
    real, imaginary = mul(z, conj(unit))
    return on_both(lambda component: b.divf(b.divf(component, size), scale), (real, imaginary))


def on_both(function: Callable[[ir.Value], ir.Value], z: Pair) -> Pair:
    """Apply a function of floats to both parts."""
    return function(z[0]), function(z[1])


def neg(z: Pair) -> Pair:
    """Return the opposite number."""
    return on_both(b.negf, z)


def conj(z: Pair) -> Pair:
    """Return the conjugate number."""
    return z[0], b.negf(z[1])


def turned(z: Pair) -> Pair:
    """Return the product with the imaginary unit."""
    return b.negf(z[1]), z[0]


def exp(z: Pair) -> Pair:
    """Return the exponential."""
    return scaled((apply("cos", z[1]), apply("sin", z[1])), apply("exp", z[0]))


def expm1(z: Pair) -> Pair:
    """Return the exponential less 1, exact near 0."""
    x, y = z
    sine = apply("sin", b.mulf(y, _number(0.5, y)))
    lost = b.mulf(_number(2.0, y), _square(sine))
    real = b.subf(b.mulf(apply("expm1", x), apply("cos", y)), lost)
    return real, b.mulf(apply("exp", x), apply("sin", y))


def log(z: Pair) -> Pair:
    """Return the logarithm."""
    return apply("log", magnitude(z)), angle(z)


def log1p(z: Pair) -> Pair:
    """Return the logarithm of 1 more, exact near 0."""
    x, y = z
    square = b.addf(b.mulf(x, b.addf(x, _number(2.0, x))), _square(y))
    real = b.mulf(_number(0.5, x), apply("log1p", square))
    return real, angle((b.addf(x, _number(1.0, x)), y))


def sqrt(z: Pair) -> Pair:
    """Return the root whose real part is not negative."""
    x, y = z
    left = b.compare_floats(b.OLT, x, _number(0.0, x))
    side = apply("copysign", _number(1.0, y), y)
    distance = b.select(left, b.negf(x), x)
    root = apply("sqrt", b.mulf(_number(0.5, x), b.addf(magnitude(z), distance)))
    zero = b.compare_floats(b.OEQ, root, _number(0.0, x))
    divisor = b.select(zero, _number(1.0, x), b.addf(root, root))
    other = b.divf(y, divisor)
    real = b.select(left, b.mulf(other, side), root)
    return real, b.select(left, b.mulf(root, side), other)


def unit(z: Pair) -> Pair:
    """Return the number 1."""
    return _number(1.0, z[0]), _number(0.0, z[0])


def rsqrt(z: Pair) -> Pair:
    """Return the reciprocal of the root."""
    return div(unit(z), sqrt(z))


def sin(z: Pair) -> Pair:
    """Return the sine."""
    x, y = z
    real = b.mulf(apply("sin", x), apply("cosh", y))
    return real, b.mulf(apply("cos", x), apply("sinh", y))


def cos(z: Pair) -> Pair:
    """Return the cosine."""
    x, y = z
    real = b.mulf(apply("cos", x), apply("cosh", y))
    return real, b.negf(b.mulf(apply("sin", x), apply("sinh", y)))


def tanh(z: Pair) -> Pair:
    """Return the hyperbolic tangent; nothing overflows far from 0."""
    x, y = z
    tangent, sine, cosine = apply("tanh", x), apply("sin", y), apply("cos", y)
    decay = apply("exp", b.mulf(_number(-2.0, x), b.absf(x)))
    sum_ = b.addf(_number(1.0, x), decay)
    width = b.divf(b.mulf(_number(4.0, x), decay), _square(sum_))  # 1 / cosh(x) ** 2
    size = b.addf(b.mulf(_square(cosine), width), _square(tangent))
    return b.divf(tangent, size), b.divf(b.mulf(b.mulf(sine, cosine), width), size)


def tan(z: Pair) -> Pair:
    """Return the tangent."""
    real, imaginary = tanh(turned(z))
    return imaginary, b.negf(real)


def power(z: Pair, w: Pair) -> Pair:
    """Return a power. One of 0 has no derivative here: the term that is 0 gives what is not a
    number."""
    zero = b.compare_floats(b.OEQ, magnitude(z), _number(0.0, z[0]))
    real, imaginary = exp(mul(w, log(z)))
    empty = b.compare_floats(b.OEQ, magnitude(w), _number(0.0, z[0]))
    of_zero = b.select(empty, _number(1.0, z[0]), _number(0.0, z[0]))
    root = apply("sqrt", b.addf(_square(z[0]), _square(z[1])))
    return b.select(zero, b.addf(of_zero, root), real), b.select(zero, root, imaginary)


def integer_power(z: Pair, exponent: int) -> Pair:
    """Return a power by products, and a quotient if the exponent is negative."""
    result, square, remaining = unit(z), z, abs(exponent)
    while remaining:
        if remaining & 1:
            result = mul(result, square)
        remaining >>= 1
        if remaining:
            square = mul(square, square)
    return div(unit(z), result) if exponent < 0 else result


def sign(z: Pair) -> Pair:
    """Return the number of magnitude 1 of the same angle, or 0."""
    size = magnitude(z)
    zero = b.compare_floats(b.OEQ, size, _number(0.0, size))
    divisor = b.select(zero, _number(1.0, size), size)
    return on_both(lambda component: b.divf(component, divisor), z)


def equal(z: Pair, w: Pair) -> ir.Value:
    """Return whether two numbers are the same."""
    return b.andi(*(b.compare_floats(b.OEQ, x, y) for x, y in zip(z, w)))


def unequal(z: Pair, w: Pair) -> ir.Value:
    """Return whether two numbers differ."""
    return b.ori(*(b.compare_floats(b.UNE, x, y) for x, y in zip(z, w)))


# from pairs to a pair
ON_PAIRS: Mapping[str, Callable[..., Pair]] = {
    Complex.ADD: add,
    Complex.CONJ: conj,
    Complex.COS: cos,
    Complex.DIV: div,
    Complex.EXP: exp,
    Complex.EXPM1: expm1,
    Complex.LOG: log,
    Complex.LOG1P: log1p,
    Complex.MUL: mul,
    Complex.NEG: neg,
    Complex.POW: power,
    Complex.RSQRT: rsqrt,
    Complex.SIGN: sign,
    Complex.SIN: sin,
    Complex.SQRT: sqrt,
    Complex.SUB: sub,
    Complex.TAN: tan,
    Complex.TANH: tanh,
}
# from pairs to a float or a bit
TO_SCALARS: Mapping[str, Callable[..., ir.Value]] = {
    Complex.ABS: magnitude,
    Complex.ANGLE: angle,
    Complex.EQ: equal,
    Complex.IM: lambda z: z[1],
    Complex.NEQ: unequal,
    Complex.RE: lambda z: z[0],
}
