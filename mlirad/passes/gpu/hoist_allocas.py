"""Move stack memory of known size to the start of its function: elsewhere it is allocated anew in
every iteration."""

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Llvm
from mlirad.ir.walk import entry_of, operations


def hoist_allocas(root: ir.Operation) -> None:
    """Move `llvm.alloca` of a constant size to the entry of its function."""
    for function in [
        op for op in operations(root) if op.name == Llvm.FUNC and len(op.regions[0].blocks)
    ]:
        first = next(iter(entry_of(function).operations)).operation
        for op in list(operations(function)):
            if op.name == Llvm.ALLOCA:
                _hoist(op, first)


def _hoist(op: ir.Operation, first: ir.Operation) -> None:
    size = op.operands[0]
    if isinstance(size, ir.BlockArgument) or size.owner.operation.name not in (
        Llvm.MLIR_CONSTANT,
        Arith.CONSTANT,
    ):
        return
    with ir.InsertionPoint(first):
        op.operands[0] = size.owner.operation.clone().results[0]
    op.move_before(first)
