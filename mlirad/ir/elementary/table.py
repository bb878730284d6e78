"""The table of elementary functions, read by both frontends, by analyses and by passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, pi

from mlirad.ir.build import OEQ, OLT
from mlirad.ir.elementary.function import (
    ABOVE_MINUS_ONE,
    ALL,
    INSIDE_UNIT,
    NOT_NEGATIVE,
    NOWHERE,
    POSITIVE,
    UNIT,
    Function,
    Interval,
    Shape,
    Slope,
)
from mlirad.ir.elementary.operators import OPERATORS, ROUNDINGS
from mlirad.ir.elementary.terms import (
    Term,
    copysign,
    cos,
    cosh,
    exp,
    magnitude,
    r,
    sin,
    sinh,
    sqrt,
    t,
    where,
    x,
    y,
)
from mlirad.ir.ops import Math

_BELL = exp(-(x * x)) * (2.0 * pi**-0.5)
_ANGLE = x * x + y * y


def _hypotenuse() -> Term:
    """The greater of two magnitudes, times a root of a number from 1 to 2; infinite where one is,
    whatever the other; its derivatives at (0, 0) are 0."""
    first, second = magnitude(x), magnitude(y)
    greater, less = (
        where(OLT, first, second, b, where(OEQ, second, inf, b, a)) for a, b in ((x, y), (y, x))
    )
    size = magnitude(greater)
    ratio = where(OEQ, size, inf, 0.0, where(OEQ, size, 0.0, less, less / greater))
    return size * sqrt(ratio * ratio + 1.0)


_HYPOTENUSE = _hypotenuse()


def _reciprocal_root(value: float) -> float:
    return 1.0 / math.sqrt(value)


def _call(
    name: str,
    derivative: Term | tuple[Term | None, ...],
    sentence: str,
    *,
    python: Callable[..., float] | None = None,
    parameters: str = "x",
    domain: Interval = ALL,
    range: Interval = ALL,
    shape: Shape = Shape.OTHER,
    slope: Slope = Slope.FINITE,
) -> Function:
    """A function that is a call of C's library, under the name of Python's."""
    terms = derivative if isinstance(derivative, tuple) else (derivative,)
    return Function(
        name,
        python or getattr(math, name),
        terms,
        sentence,
        parameters,
        f"math.{name}",
        domain,
        range,
        shape,
        slope,
        in_libmvec=True,
    )


# public in kernels and in tensor expressions, under these names
ELEMENTARY = (
    _call(
        "acos",
        -(t / sqrt(1.0 - x * x)),
        "The arccosine, in radians from 0 to π, of a number from -1 to 1",
        domain=UNIT,
        range=(0.0, pi),
        shape=Shape.DECREASING,
        slope=Slope.POLE,
    ),
    _call(
        "acosh",
        t / (sqrt(x - 1.0) * sqrt(x + 1.0)),
        "The inverse hyperbolic cosine, which is at least 0, of a number of at least 1",
        domain=(1.0, inf),
        range=NOT_NEGATIVE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "asin",
        t / sqrt(1.0 - x * x),
        "The arcsine, in radians from -π/2 to π/2, of a number from -1 to 1",
        domain=UNIT,
        range=(-pi / 2, pi / 2),
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "asinh",
        t / cosh(r),  # x * x may overflow
        "The inverse hyperbolic sine",
        shape=Shape.INCREASING,
    ),
    _call(
        "atan",
        t / (x * x + 1.0),
        "The arctangent, in radians from -π/2 to π/2",
        range=(-pi / 2, pi / 2),
        shape=Shape.INCREASING,
    ),
    _call(
        "atan2",
        ((t * y) / _ANGLE, -((t * x) / _ANGLE)),
        "The angle of the point (x, y) in radians, from -π to π",
        parameters="y, x",
        range=(-pi, pi),
    ),
    _call(
        "atanh",
        t / ((1.0 - x) * (x + 1.0)),
        "The inverse hyperbolic tangent of a number between -1 and 1",
        domain=INSIDE_UNIT,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "cbrt",
        t / (r * r * 3.0),
        "The cube root, for negative numbers too",
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    Function(
        "copysign",
        math.copysign,
        (where(OEQ, x, 0.0, 0.0, t * copysign(1.0, x) * copysign(1.0, y)), None),
        "The magnitude of x with the sign of y",
        "x, y",
        op=Math.COPYSIGN,
        intrinsic="copysign",
        jumps=True,
    ),
    _call("cos", -(t * sin(x)), "The cosine of an angle in radians", range=UNIT),
    _call(
        "cosh",
        t * sinh(x),
        "The hyperbolic cosine",
        range=(1.0, inf),
        shape=Shape.VALLEY,
        slope=Slope.OVERFLOW,
    ),
    _call("erf", t * _BELL, "The error function", range=UNIT, shape=Shape.INCREASING),
    _call(
        "erfc",
        -(t * _BELL),
        "`1 - erf(x)`, accurate even if the result is small",
        range=(0.0, 2.0),
        shape=Shape.DECREASING,
    ),
    _call(
        "exp",
        t * r,
        "The exponential function",
        range=NOT_NEGATIVE,
        shape=Shape.INCREASING,
        slope=Slope.OVERFLOW,
    ),
    _call(
        "exp2",
        t * (r * math.log(2.0)),
        "2 to the power of x",
        range=NOT_NEGATIVE,
        shape=Shape.INCREASING,
        slope=Slope.OVERFLOW,
    ),
    _call(
        "expm1",
        t * exp(x),
        "`exp(x) - 1`, accurate even if x is small",
        range=(-1.0, inf),
        shape=Shape.INCREASING,
        slope=Slope.OVERFLOW,
    ),
    Function(
        "hypot",
        math.hypot,
        (),
        "`sqrt(x * x + y * y)`, even if a square overflows",
        "x, y",
        range=NOT_NEGATIVE,
        expansion=_HYPOTENUSE,
    ),
    _call(
        "log",
        t / x,
        "The natural logarithm",
        domain=POSITIVE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "log10",
        (t / x) * (1.0 / math.log(10.0)),
        "The logarithm to base 10",
        domain=POSITIVE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "log1p",
        t / (x + 1.0),
        "`log(1 + x)`, accurate even if x is small",
        domain=ABOVE_MINUS_ONE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    _call(
        "log2",
        (t / x) * (1.0 / math.log(2.0)),
        "The logarithm to base 2",
        domain=POSITIVE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
    ),
    Function(
        "rsqrt",
        _reciprocal_root,
        ((t * -0.5) * (r * r * r),),
        "`1 / sqrt(x)`",
        op=Math.RSQRT,
        domain=POSITIVE,
        range=NOT_NEGATIVE,
        shape=Shape.DECREASING,
        slope=Slope.POLE,
    ),
    _call("sin", t * cos(x), "The sine of an angle in radians", range=UNIT),
    _call("sinh", t * cosh(x), "The hyperbolic sine", shape=Shape.INCREASING, slope=Slope.OVERFLOW),
    Function(
        "sqrt",
        math.sqrt,
        ((t * 0.5) / r,),
        "The square root",
        op=Math.SQRT,
        domain=NOT_NEGATIVE,
        range=NOT_NEGATIVE,
        shape=Shape.INCREASING,
        slope=Slope.POLE,
        intrinsic="sqrt",
    ),
    _call(
        "tan",
        t * (r * r + 1.0),
        "The tangent of an angle in radians",
        domain=NOWHERE,
        slope=Slope.OVERFLOW,
    ),
    _call("tanh", t * (1.0 - r * r), "The hyperbolic tangent", range=UNIT, shape=Shape.INCREASING),
)


_ALL = (*ELEMENTARY, *ROUNDINGS, *OPERATORS)
FUNCTIONS = {function.op: function for function in _ALL if function.op}
EXPANSIONS = {function.name: function for function in _ALL if function.expansion is not None}
# a GPU has an instruction for each, and so has a CPU; roots take longer
INSTRUCTIONS = frozenset(op for op, row in FUNCTIONS.items() if row.intrinsic) - {Math.SQRT}
