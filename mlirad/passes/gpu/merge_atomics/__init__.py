"""Sums that go to neighbors in memory as one instruction, `red.global.add.v4.f32` and its kin,
which chips from sm_90 on have.

Runs on kernels in LLVM's dialect. `llvm.atomicrmw fadd` of f32 and f16 without a use are merged if
their addresses are known to lie side by side behind one argument, and nothing between them may
touch what they add to: sums have no order. A vector has to lie at a multiple of its size. Where the
address of a run is known up to one bit, as is that of three cells in a row, the bit chooses at run
time which of them are one vector.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.signature import NOALIAS
from mlirad.ir.walk import block_operations, defining_op, has_uses, llvm_functions
from mlirad.passes.gpu.merge_atomics.sum_places import Place, base_of, labels_of, place_of
from mlirad.passes.gpu.merge_atomics.vector_sums import MERGED, VECTORS, merge_run

__all__ = ["MERGED", "merge_atomics"]

_FADD = 11  # LLVM::AtomicBinOp
_MEMORY = (Llvm.LOAD, Llvm.STORE)
_SILENT = {
    *(Llvm.ADD, Llvm.AND, Llvm.BITCAST, Llvm.GETELEMENTPTR, Llvm.ICMP, Llvm.LSHR),
    *(Llvm.MLIR_CONSTANT, Llvm.MUL, Llvm.OR, Llvm.SELECT, Llvm.SEXT, Llvm.SHL, Llvm.SUB),
    *(Llvm.TRUNC, Llvm.ZEXT, Llvm.SITOFP, Llvm.ADDRSPACECAST),
}


def merge_atomics(module: ir.Operation) -> None:
    """Merge atomic sums of adjacent elements whose results are not used."""
    for function in llvm_functions(module):
        for region in function.regions:
            for block in region.blocks:
                _Waiting().pass_through(block)


class _Waiting:
    """Sums of a block that may still be merged with what comes: by where they lie, in order."""

    def __init__(self) -> None:
        self._runs: dict[Place, dict[int, ir.Operation]] = {}

    def pass_through(self, block: ir.Block) -> None:
        """Merge the sums of a block."""
        for op in block_operations(block):
            if _is_sum(op):
                self._wait(op)
            elif op.name in _MEMORY:
                base = base_of(op.operands[-1])
                self._end([place for place in self._runs if not _are_apart(base, place.base)])
            elif not _is_silent(op):
                self._end(list(self._runs))
        self._end(list(self._runs))

    def _wait(self, op: ir.Operation) -> None:
        located = place_of(op)
        if located is None:
            return
        place, offset = located
        if offset in self._runs.get(place, {}):
            self._end([place])
        self._runs.setdefault(place, {})[offset] = op

    def _end(self, places: list[Place]) -> None:
        """Merge what waits at some places."""
        for place in places:
            sums = self._runs.pop(place)
            order = {op: number for number, op in enumerate(sums.values())}
            for offset in sorted(sums):
                if offset - 1 not in sums:
                    run = _run_from(offset, sums)
                    merge_run(run, place.multiple, offset, max(run, key=order.__getitem__))


def _run_from(offset: int, sums: dict[int, ir.Operation]) -> list[ir.Operation]:
    run = []
    while offset in sums:
        run.append(sums[offset])
        offset += 1
    return run


def _is_sum(op: ir.Operation) -> bool:
    return (
        op.name == Llvm.ATOMICRMW
        and ir.IntegerAttr(op.attributes["bin_op"]).value == _FADD
        and str(op.results[0].type) in VECTORS
        and not has_uses(op.results[0])
    )


def _is_silent(op: ir.Operation) -> bool:
    """Return whether an op touches no memory, as far as is known, and reads no clock."""
    if op.name == Llvm.CALL_INTRINSIC:
        return bool(op.operands)
    return op.name in _SILENT or (op.name.startswith("llvm.f") and op.name != Llvm.FENCE)


def _are_apart(base: ir.Value, other: ir.Value) -> bool:
    """Return whether nothing behind one pointer lies behind another."""
    op = defining_op(base)
    if op is not None:
        return op.name == Llvm.ALLOCA
    return base != other and all(NOALIAS in labels_of(pointer) for pointer in (base, other))
