"""Make array descriptors inside the launches that use them, so that a launch takes pointers and
extents only."""

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Builtin, Gpu, Llvm
from mlirad.ir.walk import captured_values, operations

_SUNK = (
    Arith.CONSTANT,
    Arith.INDEX_CAST,
    Arith.MULI,
    Llvm.MLIR_POISON,
    Llvm.MLIR_CONSTANT,
    Llvm.INSERTVALUE,
    Builtin.UNREALIZED_CONVERSION_CAST,
)


def sink_descriptors(module: ir.Operation) -> None:
    """Clone the ops that build a descriptor, or a constant, to the start of every launch that uses
    it."""
    for launch in [op for op in operations(module) if op.name == Gpu.LAUNCH]:
        _sink_into(launch)


def _sink_into(launch: ir.Operation) -> None:
    copies: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint.at_block_begin(launch.regions[0].blocks[0]):
        for value in captured_values(launch):
            _copy(value, copies)
    for op in list(operations(launch)):
        for position, operand in enumerate(op.operands):
            if operand in copies:
                op.operands[position] = copies[operand]


def _copy(value: ir.Value, copies: dict[ir.Value, ir.Value]) -> None:
    """Clone the op that makes a value, and those that make its operands, as far as they are
    sunk."""
    if (
        value in copies
        or isinstance(value, ir.BlockArgument)
        or value.owner.operation.name not in _SUNK
    ):
        return
    op = value.owner.operation
    for operand in op.operands:
        _copy(operand, copies)
    clone = op.clone()
    for position, operand in enumerate(op.operands):
        if operand in copies:
            clone.operands[position] = copies[operand]
    copies[value] = clone.results[0]
