"""The terms in which derivatives and lowerings of ops may be written.

`x`, `y`, `z` are the operands of an op, `r` is its result, and `t` is the tangent that a
derivative is linear in. Operators and the functions here make larger terms; `function("math.erf")`
is any other op of one argument. `where(OLT, a, b, c, d)` is `c` if `a < b`, and else `d`.
"""

from mlirad.ir.build import OEQ, OGE, OGT, OLE, OLT
from mlirad.ir.elementary.terms import (
    Operand,
    Term,
    copysign,
    cos,
    cosh,
    exp,
    floor,
    function,
    log,
    magnitude,
    power,
    r,
    sin,
    sinh,
    sqrt,
    t,
    where,
    x,
    y,
    z,
)

__all__ = [
    "OEQ",
    "OGE",
    "OGT",
    "OLE",
    "OLT",
    "Operand",
    "Term",
    "copysign",
    "cos",
    "cosh",
    "exp",
    "floor",
    "function",
    "log",
    "magnitude",
    "power",
    "r",
    "sin",
    "sinh",
    "sqrt",
    "t",
    "where",
    "x",
    "y",
    "z",
]
