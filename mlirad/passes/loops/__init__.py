"""What passes of this folder look for: names of ops without which they do nothing, and are not
loaded."""

from mlirad.dialect.field import AllocaOp
from mlirad.dialect.field.threads import TOGETHER
from mlirad.ir.ops import Scf

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "gather-pair-updates": (Scf.FOR,),
    "hoist-loads": (Scf.FOR,),
    "lower-block-loops": TOGETHER,
    "lower-ordered-loops": (AllocaOp.OPERATION_NAME,),
    "split-contractions": (Scf.FOR,),
    "split-window-loops": (Scf.FOR,),
    "tile-contractions": (Scf.FOR,),
}
