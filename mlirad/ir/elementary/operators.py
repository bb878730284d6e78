"""The rows of the table of functions that round to whole numbers, and of those that operators, or
passes, make."""

from __future__ import annotations

import math
from collections.abc import Callable

from mlirad.ir.build import OEQ, OGT, OLT
from mlirad.ir.elementary.function import NOT_NEGATIVE, NOWHERE, Function, Shape, Slope
from mlirad.ir.elementary.terms import log, power, r, t, where, x, y
from mlirad.ir.ops import Math

# d(x**p)/dx = p x**(p-1), and 0 for p = 0 at x = 0 too (where this is the case for both, lest its
# derivative in p be 0 for p = 0 elsewhere); in p, 0 at x = 0 and NaN for x < 0.
_POWER = t * (y * power(x, y - 1.0))


def _round(value: float) -> float:
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def _rounding(
    name: str, python: Callable[..., float], sentence: str, *, is_instruction: bool = True
) -> Function:
    """A function to whole numbers."""
    intrinsic = name if is_instruction else ""
    return Function(
        name,
        python,
        (None,),
        sentence,
        op=f"math.{name}",
        shape=Shape.INCREASING,
        intrinsic=intrinsic,
        jumps=True,
    )


_NEAREST = "The nearest integer, as a float; halves round "
ROUNDINGS = (
    _rounding("ceil", math.ceil, "The smallest integer that is at least x, as a float"),
    _rounding("floor", math.floor, "The largest integer that is at most x, as a float"),
    _rounding("round", _round, f"{_NEAREST}away from 0", is_instruction=False),
    _rounding("roundeven", round, f"{_NEAREST}to the even one"),
    _rounding("trunc", math.trunc, "The integer part, rounded towards 0, as a float"),
)
OPERATORS = (
    Function(
        "abs",
        abs,
        (where(OGT, x, 0.0, t, where(OLT, x, 0.0, -t, 0.0)),),
        "The absolute value",
        op=Math.ABSF,
        range=NOT_NEGATIVE,
        shape=Shape.VALLEY,
        intrinsic="fabs",
        jumps=True,
    ),
    Function(
        "fma",
        lambda x, y, z: x * y + z,
        (t * y, t * x, t),
        "`x * y + z`, rounded once",
        "x, y, z",
        op=Math.FMA,
        intrinsic="fma",
    ),
    Function(
        "pow",
        math.pow,
        (
            where(OEQ, x, 0.0, where(OEQ, y, 0.0, 0.0, _POWER), _POWER),
            where(OEQ, x, 0.0, 0.0, t * (r * log(x))),
        ),
        "`base ** exponent`",
        "base, exponent",
        op=Math.POWF,
        domain=NOWHERE,
        slope=Slope.POLE,
        in_libmvec=True,
    ),
)
