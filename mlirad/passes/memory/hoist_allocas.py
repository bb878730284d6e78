"""Move stack memory of known size to the start of its function: in a loop it is allocated in every
iteration, and freed by none, so that a long loop runs out of stack."""

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Llvm
from mlirad.ir.walk import defining_op, entry_of, llvm_functions, operations


def hoist_allocas(root: ir.Operation) -> None:
    """Move every `llvm.alloca` of constant size to the entry of its function."""
    for function in llvm_functions(root):
        entry = entry_of(function)
        first = next(iter(entry.operations)).operation
        for op in [op for op in operations(function) if op.name == Llvm.ALLOCA]:
            if op.block != entry:
                _hoist(op, first)


def _hoist(op: ir.Operation, first: ir.Operation) -> None:
    size = defining_op(op.operands[0])
    if size is not None and size.name in (Llvm.MLIR_CONSTANT, Arith.CONSTANT):
        with ir.InsertionPoint(first):
            op.operands[0] = size.clone().results[0]
        op.move_before(first)
