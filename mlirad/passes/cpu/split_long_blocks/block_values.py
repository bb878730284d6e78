"""The results of the operations of a block, and their uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir.ops import Arith, Builtin, Llvm, Memref
from mlirad.ir.walk import defining_op, operations

# Ops that are rather done again where their results are wanted than handed over; all of them only
# compute.
_AGAIN = (
    Arith.CONSTANT,
    Llvm.MLIR_CONSTANT,
    Llvm.MLIR_POISON,
    Llvm.INSERTVALUE,
    Builtin.UNREALIZED_CONVERSION_CAST,
    Memref.CAST,
    Memref.REINTERPRET_CAST,
)


class Use(msgspec.Struct, frozen=True):
    """An operand of an op of the block, or of one in that: the op's number in the block."""

    user: ir.Operation
    position: int
    at: int


class BlockValues:
    """The values that the ops of a block make, and all uses in it of these and of others."""

    def __init__(self, ops: Sequence[ir.Operation]) -> None:
        self.ops = ops
        self.made: dict[ir.Value, int] = {}
        self.uses: dict[ir.Value, list[Use]] = {}
        for at, op in enumerate(ops):
            self.note(op, at)
            for result in op.results:
                self.made[result] = at

    def note(self, op: ir.Operation, at: int) -> None:
        """Note the uses of an op with a number, and of those in it."""
        for position, operand in enumerate(op.operands):
            self.uses.setdefault(operand, []).append(Use(op, position, at))
        if not len(op.regions):
            return
        inside = set(_arguments(op))
        for inner in operations(op):
            for position, operand in enumerate(inner.operands):
                if operand not in inside:
                    self.uses.setdefault(operand, []).append(Use(inner, position, at))
            inside.update(inner.results)
            inside.update(_arguments(inner))


def _arguments(op: ir.Operation) -> Iterator[ir.Value]:
    return (value for region in op.regions for block in region.blocks for value in block.arguments)


def is_done_again(value: ir.Value) -> bool:
    """Return whether a value is rather computed where it is wanted than handed over."""
    op = defining_op(value)
    return op is not None and does_again(op)


def does_again(op: ir.Operation) -> bool:
    """Return whether an op is rather done again than its results handed over."""
    return op.name in _AGAIN
