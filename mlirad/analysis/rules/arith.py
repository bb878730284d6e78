"""Derivatives of the arith dialect: one term for each operand, None where the derivative is zero
everywhere."""

from mlirad.ir.build import OGT, OLT
from mlirad.ir.elementary.terms import Term, choose, convert, floor, r, t, where, x, y

RULES: dict[str, tuple[Term | None, ...]] = {
    "arith.addf": (t, t),
    "arith.subf": (t, -t),
    "arith.mulf": (t * y, t * x),
    "arith.divf": (t / y, -((t / y) * r)),
    "arith.negf": (-t,),
    "arith.remf": (t, -(t * where(OLT, x / y, 0.0, -floor(-(x / y)), floor(x / y)))),
    "arith.maximumf": (where(OGT, x, y, t, 0.0), where(OGT, x, y, 0.0, t)),
    "arith.minimumf": (where(OLT, x, y, t, 0.0), where(OLT, x, y, 0.0, t)),
    "arith.maxnumf": (where(OGT, x, y, t, 0.0), where(OGT, x, y, 0.0, t)),
    "arith.minnumf": (where(OLT, x, y, t, 0.0), where(OLT, x, y, 0.0, t)),
    "arith.select": (None, choose(x, t, 0.0), choose(x, 0.0, t)),
    "arith.extf": (convert,),
    "arith.truncf": (convert,),
}
