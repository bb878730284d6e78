"""Operations that compute values from values alone: they may be done elsewhere, or twice."""

from mlirad.bindings import ir

_DIALECTS = ("arith", "math", "complex")
_OTHERS = {
    "builtin.unrealized_conversion_cast",
    "llvm.extractvalue",
    "llvm.getelementptr",
    "llvm.insertvalue",
    "llvm.inttoptr",
    "llvm.mlir.addressof",
    "llvm.mlir.constant",
    "llvm.mlir.poison",
    "llvm.ptrtoint",
    "memref.cast",
    "memref.dim",
    "memref.extract_aligned_pointer_as_index",
    "memref.get_global",
    "memref.memory_space_cast",
    "memref.reinterpret_cast",
    "memref.subview",
    "memref.view",
}


def is_pure(op: ir.Operation) -> bool:
    """Whether an operation reads no memory and changes none."""
    return not len(op.regions) and (op.name.partition(".")[0] in _DIALECTS or op.name in _OTHERS)
