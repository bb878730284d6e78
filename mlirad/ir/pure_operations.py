"""Operations that compute values from values alone: they may be done elsewhere, or twice."""

from mlirad.bindings import ir
from mlirad.dialect.view import NamedOp
from mlirad.ir.ops import Arith, Builtin, Llvm, Memref

_DIALECTS = ("arith", "math", "complex")
_INTEGER_DIVISIONS = (
    *(Arith.DIVSI, Arith.DIVUI, Arith.REMSI, Arith.REMUI),
    *(Arith.FLOORDIVSI, Arith.CEILDIVSI, Arith.CEILDIVUI),
)
_OTHERS = {
    Builtin.UNREALIZED_CONVERSION_CAST,
    Llvm.EXTRACTVALUE,
    Llvm.GETELEMENTPTR,
    Llvm.INSERTVALUE,
    Llvm.INTTOPTR,
    Llvm.MLIR_ADDRESSOF,
    Llvm.MLIR_CONSTANT,
    Llvm.MLIR_POISON,
    Llvm.PTRTOINT,
    Memref.CAST,
    Memref.DIM,
    Memref.EXTRACT_ALIGNED_POINTER_AS_INDEX,
    Memref.GET_GLOBAL,
    Memref.MEMORY_SPACE_CAST,
    Memref.REINTERPRET_CAST,
    Memref.SUBVIEW,
    Memref.VIEW,
}


def is_arithmetic(op: NamedOp) -> bool:
    """Return whether an operation is one of `arith` or `math`."""
    return op.name.startswith(("arith.", "math."))


def is_integer_division(op: NamedOp) -> bool:
    """Return whether an operation is a quotient or a remainder of integers."""
    return op.name in _INTEGER_DIVISIONS


def is_pure(op: ir.Operation) -> bool:
    """Return whether an operation reads no memory and changes none."""
    return not len(op.regions) and (op.name.partition(".")[0] in _DIALECTS or op.name in _OTHERS)
