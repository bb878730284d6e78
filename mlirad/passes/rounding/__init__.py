"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.ir.ops import Arith, Math, Scf

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "hoist-factors": (Scf.FOR,),
    "lower-floor-divisions": (Arith.FLOORDIVSI,),
    "lower-small-exponentials": (Math.EXPM1,),
    "merge-root-quotients": (Math.SQRT,),
    "split-sums": (Scf.FOR,),
}
