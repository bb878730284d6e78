"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.dialect.field import AllocaOp
from mlirad.dialect.field.threads import TOGETHER
from mlirad.ir.ops import Arith, Scf

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "gather-pair-updates": (Scf.FOR,),
    "hoist-loads": (Scf.FOR,),
    "lower-block-loops": TOGETHER,
    "lower-ordered-loops": (AllocaOp.OPERATION_NAME,),
    "split-guarded-loops": (
        Arith.CMPI,
        Arith.MAXSI,
        Arith.MINSI,
        Arith.REMSI,
        Arith.FLOORDIVSI,
        Arith.DIVSI,
    ),
    "split-contractions": (Scf.FOR,),
    "split-window-loops": (Scf.FOR,),
    "tile-contractions": (Scf.FOR,),
}
