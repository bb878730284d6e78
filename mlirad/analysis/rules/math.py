"""Derivatives of the math dialect: one term for each operand, None where the derivative is zero
everywhere."""

from math import pi

from mlirad.analysis.rules.terms import (
    Term,
    cos,
    function,
    log,
    power,
    r,
    sin,
    sqrt,
    t,
    where,
    x,
    y,
)
from mlirad.ir.build import OEQ, OGT, OLT

# d(x**p)/dx = p x**(p-1), and 0 for p = 0 at x = 0 too (where this is the case for both, lest its
# derivative in p be 0 for p = 0 elsewhere); in p, 0 at x = 0 and NaN for x < 0.
_SLOPE = t * (y * power(x, y - 1.0))
_POWER = (
    where(OEQ, x, 0.0, where(OEQ, y, 0.0, 0.0, _SLOPE), _SLOPE),
    where(OEQ, x, 0.0, 0.0, t * (r * log(x))),
)

_BELL = function("math.exp")(-(x * x)) * (2.0 * pi**-0.5)

RULES: dict[str, tuple[Term | None, ...]] = {
    "math.sin": (t * cos(x),),
    "math.cos": (-(t * sin(x)),),
    "math.tan": (t * (r * r + 1.0),),
    "math.asin": (t / sqrt(1.0 - x * x),),
    "math.acos": (-(t / sqrt(1.0 - x * x)),),
    "math.atan": (t / (x * x + 1.0),),
    "math.atan2": ((t * y) / (x * x + y * y), -((t * x) / (x * x + y * y))),
    "math.tanh": (t * (1.0 - r * r),),
    "math.erf": (t * _BELL,),
    "math.erfc": (-(t * _BELL),),
    "math.exp": (t * r,),
    "math.expm1": (t * function("math.exp")(x),),
    "math.log": (t / x,),
    "math.log1p": (t / (x + 1.0),),
    "math.sqrt": ((t * 0.5) / r,),
    "math.rsqrt": ((t * -0.5) * (r * r * r),),
    "math.powf": _POWER,
    "math.absf": (where(OGT, x, 0.0, t, where(OLT, x, 0.0, -t, 0.0)),),
    "math.floor": (None,),
    "math.ceil": (None,),
    "math.round": (None,),
    "math.roundeven": (None,),
    "math.trunc": (None,),
    "math.fma": (t * y, t * x, t),
}
