"""Names of ops without which passes of this folder do nothing, and are not loaded."""

from mlirad.ir.elementary.vector_math import FUNCTIONS
from mlirad.ir.graph import in_loops
from mlirad.ir.ops import Arith, Math, Memref

LOOKS_FOR: dict[str, tuple[str, ...]] = {
    "expand-elementary": (Math.EXP, Math.TANH, Math.LOG1P),
    "insert-root-estimates": (Math.SQRT, Math.RSQRT),
    "mark-scalar-loops": (in_loops(Memref.STORE),),
    "insert-write-buffers": (in_loops(Memref.STORE),),
    "lower-constant-powers": (Math.POWF,),
    "lower-half-casts": (Arith.TRUNCF,),
    "sink-taken-adjoints": (Arith.SELECT,),
    "sink-zero-guards": (Arith.SELECT,),
    "lower-vector-math": tuple(FUNCTIONS),
    "reassociate-extremes": (Arith.SELECT,),
}
