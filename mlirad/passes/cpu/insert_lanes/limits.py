"""Why a loop cannot be run in lanes."""

from __future__ import annotations

from mlirad.analysis.lanes.lane_meetings import Meetings, reductions_of
from mlirad.analysis.lanes.strides import Strides
from mlirad.bindings import ir
from mlirad.ir.marks.rare import is_rare
from mlirad.ir.marks.rounding import LANES
from mlirad.ir.ops import Memref, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import STRUCTURED, WRITE_BUFFER, is_for, runs_in_any_order
from mlirad.ir.walk import constant_integer, defining_op, enclosing, is_inside, operations

_ENDS = (Scf.YIELD, Scf.CONDITION, Memref.ATOMIC_YIELD)
_MEMORY = (Memref.LOAD, Memref.STORE, Memref.ATOMIC_RMW, Memref.GENERIC_ATOMIC_RMW)
_SCALARS = (ir.FloatType, ir.IntegerType, ir.IndexType)
_REORDERED = ("addf", "mulf")


def reason_against(
    loop: ir.Operation, strides: Strides, meetings: Meetings, may_reorder: bool
) -> str:
    """Return why a loop has to stay as it is; nothing if it may run in lanes."""
    step = constant_integer(loop.operands[2])
    if step is None or step < 1:
        return "its step is not known"
    if reductions_of(loop, may_reorder) is None:
        return "it carries sums whose order matters"
    for op in operations(loop):
        reason = _against(op, strides, may_reorder)
        if reason:
            return reason
    return meetings.reason


def _against(op: ir.Operation, strides: Strides, may_reorder: bool) -> str:
    if LANES in op.attributes:
        return "it holds a sum that decisions are made of"
    if is_arithmetic(op):
        return _against_types([*op.results, *op.operands])
    if op.name in STRUCTURED:
        if is_for(op) and not strides.is_uniform(op.operands[2]):
            return "an inner loop has other steps in each iteration"
        return _against_types(
            [*op.results, *(a for r in op.regions for block in r.blocks for a in block.arguments)]
        )
    if op.name in _ENDS:
        return ""
    if op.name in (Memref.ALLOC, Memref.DEALLOC):
        buffer = op.results[0] if op.results else op.operands[0]
        return "" if buffer in strides.private else "it allocates memory"
    if op.name in _MEMORY:
        return _against_access(op, strides, may_reorder)
    if is_rare(enclosing(op)):
        arrays = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if any(v in strides.private for v in arrays):
            return "it passes a buffer of its own to a function"
        return _against_types([*op.results, *(v for v in op.operands if v not in arrays)])
    return f"it holds '{op.name}'"


def _against_types(values: list[ir.Value]) -> str:
    for value in values:
        if not isinstance(value.type, _SCALARS):
            return f"it holds values of type {value.type}"
    return ""


def _against_access(op: ir.Operation, strides: Strides, may_reorder: bool) -> str:
    position = 0 if op.name in (Memref.LOAD, Memref.GENERIC_ATOMIC_RMW) else 1
    memref = op.operands[position]
    type_ = ir.MemRefType(memref.type)
    allocation = defining_op(memref)
    if (
        allocation is not None
        and is_inside(allocation, strides.loop)
        and memref not in strides.private
    ):
        return "it allocates memory"
    if (
        allocation is not None
        and allocation.name == Memref.ALLOCA
        and WRITE_BUFFER not in allocation.attributes
        and memref not in strides.private
    ):
        return "it uses a buffer that others use too"
    element = type_.element_type
    if not isinstance(element, _SCALARS):
        return f"it accesses elements of type {element}"
    if memref in strides.private:
        return "" if op.name in _MEMORY[:2] else "it updates a buffer of its own in one step"
    if element == ir.IntegerType.get_signless(1):
        return "it accesses truth values"
    _, offset = type_.get_strides_and_offset()
    if offset != 0:
        return "it accesses part of an array"
    if op.name in _MEMORY[2:] and not may_reorder and isinstance(element, ir.FloatType):
        return "the order of updates of one element matters"
    return ""


def parallel_loops(root: ir.Operation) -> list[ir.Operation]:
    """The loops whose iterations may run together, outer before inner."""
    return [op for op in operations(root) if runs_in_any_order(op)]
