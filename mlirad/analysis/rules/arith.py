"""Derivatives of the arith dialect: one term for each operand, None where the derivative is zero
everywhere."""

from mlirad.ir.build import OGT, OLT
from mlirad.ir.elementary.terms import Term, choose, convert, floor, r, t, where, x, y
from mlirad.ir.ops import Arith

RULES: dict[str, tuple[Term | None, ...]] = {
    Arith.ADDF: (t, t),
    Arith.SUBF: (t, -t),
    Arith.MULF: (t * y, t * x),
    Arith.DIVF: (t / y, -((t / y) * r)),
    Arith.NEGF: (-t,),
    Arith.REMF: (t, -(t * where(OLT, x / y, 0.0, -floor(-(x / y)), floor(x / y)))),
    Arith.MAXIMUMF: (where(OGT, x, y, t, 0.0), where(OGT, x, y, 0.0, t)),
    Arith.MINIMUMF: (where(OLT, x, y, t, 0.0), where(OLT, x, y, 0.0, t)),
    Arith.MAXNUMF: (where(OGT, x, y, t, 0.0), where(OGT, x, y, 0.0, t)),
    Arith.MINNUMF: (where(OLT, x, y, t, 0.0), where(OLT, x, y, 0.0, t)),
    Arith.SELECT: (None, choose(x, t, 0.0), choose(x, 0.0, t)),
    Arith.EXTF: (convert,),
    Arith.TRUNCF: (convert,),
}
