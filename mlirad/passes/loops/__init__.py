"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.dialect.field import AllocaOp
from mlirad.dialect.field.threads import TOGETHER
from mlirad.ir.elementary.vector_math import FUNCTIONS
from mlirad.ir.graph import in_loops
from mlirad.ir.ops import Arith, Memref, Scf

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "gather-pair-updates": (Scf.FOR,),
    "hoist-loads": (Scf.FOR,),
    "lower-block-loops": TOGETHER,
    "lower-ordered-loops": (AllocaOp.OPERATION_NAME,),
    "reuse-loop-values": tuple(in_loops(name) for name in FUNCTIONS),
    "split-guarded-loops": (
        in_loops(Arith.CMPI),
        in_loops(Arith.MAXSI),
        in_loops(Arith.MINSI),
        in_loops(Arith.REMSI),
        in_loops(Arith.FLOORDIVSI),
        in_loops(Arith.DIVSI),
    ),
    "split-contractions": (in_loops(Scf.FOR),),
    "split-window-loops": (in_loops(Scf.FOR),),
    "tile-contractions": (in_loops(Memref.STORE),),
}
