"""Sums that go to two neighbours in memory as one instruction, `red.global.add.v2.f32`, which chips
from sm_90 on have.

Runs on kernels in LLVM's dialect. Two `llvm.atomicrmw fadd` of f32 without a use are merged where
their addresses are known to be the two halves of 8 aligned bytes of one argument, and nothing
between them touches memory.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Llvm
from mlirad.ir.signature import ALIGN
from mlirad.ir.walk import before, block_operations, defining_op, has_uses, llvm_functions

_FADD = 11  # LLVM::AtomicBinOp
_PAIR = 8  # bytes of two
INSTRUCTION = "red.relaxed.gpu.global.add.v2.f32 [$0], {$1, $2};"
_SILENT = (Llvm.GETELEMENTPTR, Llvm.MLIR_CONSTANT, Llvm.CALL_INTRINSIC, Llvm.SELECT)


def merge_atomics(module: ir.Operation) -> None:
    """Merge atomic sums of two neighbouring f32 that nobody reads."""
    for function in llvm_functions(module):
        for region in function.regions:
            for block in region.blocks:
                _merge_in(block)


def _merge_in(block: ir.Block) -> None:
    first: ir.Operation | None = None
    for op in block_operations(block):
        if _is_sum(op):
            if first is not None and _are_neighbours(_place(first), _place(op)):
                _merge(first, op, last=op)
                first = None
            elif first is not None and _are_neighbours(_place(op), _place(first)):
                _merge(op, first, last=op)
                first = None
            else:
                first = op
        elif not _is_silent(op):
            first = None


def _is_sum(op: ir.Operation) -> bool:
    return (
        op.name == Llvm.ATOMICRMW
        and ir.IntegerAttr(op.attributes["bin_op"]).value == _FADD
        and isinstance(op.results[0].type, ir.F32Type)
        and not has_uses(op.results[0])
    )


def _is_silent(op: ir.Operation) -> bool:
    """Return whether an op touches no memory, as far as is known, and reads no clock."""
    if op.name == Llvm.CALL_INTRINSIC and not op.operands:
        return False
    arithmetic = ("llvm.f", Llvm.ADD, Llvm.SUB, Llvm.MUL, Llvm.SEXT, Llvm.ZEXT)
    return op.name in _SILENT or (op.name.startswith(arithmetic) and op.name != Llvm.FENCE)


class _Place(NamedTuple):
    """An address: elements behind an argument, as a sum of values times integers and a constant."""

    base: ir.Value
    terms: Counter[ir.Value]
    constant: int


def _place(op: ir.Operation) -> _Place | None:
    address = defining_op(op.operands[0])
    if address is None or address.name != Llvm.GETELEMENTPTR or len(address.operands) != 2:
        return None
    base, index = address.operands
    if ir.TypeAttr(address.attributes["elem_type"]).value != op.results[0].type:
        return None
    terms: Counter[ir.Value] = Counter()
    return _Place(base, terms, _add(index, 1, terms))


def _add(value: ir.Value, factor: int, terms: Counter[ir.Value]) -> int:
    """Add a multiple of a value to terms; the constant part of it."""
    op = defining_op(value)
    if op is not None and op.name == Llvm.MLIR_CONSTANT:
        return factor * ir.IntegerAttr(op.attributes["value"]).value
    if op is not None and op.name == Llvm.ADD:
        return sum(_add(operand, factor, terms) for operand in op.operands)
    if op is not None and op.name == Llvm.MUL:
        by = defining_op(op.operands[1])
        if by is not None and by.name == Llvm.MLIR_CONSTANT:
            return _add(
                op.operands[0], factor * ir.IntegerAttr(by.attributes["value"]).value, terms
            )
    terms[value] += factor
    return 0


def _are_neighbours(left: _Place | None, right: _Place | None) -> bool:
    """Return whether two places are the halves of 8 aligned bytes, in order."""
    if left is None or right is None or left.base != right.base or left.terms != right.terms:
        return False
    even = left.constant % 2 == 0 and all(factor % 2 == 0 for factor in left.terms.values())
    return even and right.constant == left.constant + 1 and _is_aligned(left.base)


def _is_aligned(base: ir.Value) -> bool:
    """Return whether an argument of a kernel is known to be a multiple of 8 bytes."""
    if not isinstance(base, ir.BlockArgument):
        return False
    function = base.owner.owner.operation
    if "arg_attrs" not in function.attributes or base.owner != function.regions[0].blocks[0]:
        return False
    labels = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[base.arg_number])
    return ALIGN in labels and ir.IntegerAttr(labels[ALIGN]).value % _PAIR == 0


def _merge(first: ir.Operation, second: ir.Operation, *, last: ir.Operation) -> None:
    with before(last):
        everywhere = first.operands[0]
        pointer = b.make(Llvm.ADDRSPACECAST, ir.Type.parse("!llvm.ptr<1>"), [everywhere])
        b.effect(
            Llvm.INLINE_ASM,
            [pointer, first.operands[1], second.operands[1]],
            asm_string=ir.StringAttr.get(INSTRUCTION),
            constraints=ir.StringAttr.get("l,f,f,~{memory}"),
            has_side_effects=ir.UnitAttr.get(),
        )
    first.erase()
    second.erase()
