"""Accesses to paged memory: which there are behind a pointer, and how each finds its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import memref_at, pointer_behind, pointer_of, pointer_type
from mlirad.ir.ops import Builtin, Llvm, Memref
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import attributes_of, before, replace
from mlirad.passes.memory.lower_paged_fields.page_functions import LOOK, LOOK_AGAIN, REACH

# where the memory is among the operands: indices follow
_READS = {Memref.LOAD: 0}
_WRITES = {Memref.STORE: 1, Memref.ATOMIC_RMW: 1, Memref.GENERIC_ATOMIC_RMW: 0}
_PLACES = _READS | _WRITES
_VIEWS = {
    Llvm.INSERTVALUE,
    Builtin.UNREALIZED_CONVERSION_CAST,
    Memref.CAST,
    Memref.SUBVIEW,
    Memref.REINTERPRET_CAST,
    Memref.COLLAPSE_SHAPE,
    Memref.EXPAND_SHAPE,
    Memref.TRANSPOSE,
    Memref.ASSUME_ALIGNMENT,
}


class Access(NamedTuple):
    """An operation that reads or writes an element. Neighbors may lie on two pages."""

    op: ir.Operation
    position: int  # of the memory among its operands

    @property
    def writes(self) -> bool:
        """Return whether the access may write."""
        return self.op.name in _WRITES


def accesses_of(pointer: ir.Value) -> Iterator[Access]:
    """Every access to what a pointer leads to. Raises TaichiCompilationError for what is done to
    it that is no access."""
    reached, pending = set[ir.Operation](), [pointer]
    while pending:
        for use in pending.pop().uses:
            op, position = use.owner.operation, use.operand_number
            if op in reached:
                continue
            if _PLACES.get(op.name) == position:
                reached.add(op)
                yield Access(op, position)
            elif op.name in _VIEWS:
                reached.add(op)
                pending += op.results
            elif op.name != Memref.DIM:
                refuse(op, f"'{op.name}' of memory in pages")


def lower_access(access: Access, header: ir.Value, *, may_take: bool) -> None:
    """Have an access go to the page of its element, in a kernel that `may_take` pages."""
    op, position = access
    operands = list(op.operands)
    memory = operands[position]
    with before(op):
        address = _address(op, memory, operands[position + 1 :])
        if access.writes:
            place = [header, address, _is_zero(op)]
            pointer = b.call(REACH, place, [pointer_type()]).result
        else:
            look = LOOK_AGAIN if may_take else LOOK
            pointer = b.call(look, [header, address], [pointer_type()]).result
        element = ir.MemRefType(memory.type).element_type
        alone = memref_at(pointer, ir.MemRefType.get([], element), [], [])
        _replace(op, [*operands[:position], alone])


def _replace(op: ir.Operation, operands: list[ir.Value]) -> None:
    """Make an access to memory of one element."""
    copy = ir.Operation.create(
        op.name,
        [result.type for result in op.results],
        operands,
        attributes_of(op),
        regions=len(op.regions),
    )
    for number, region in enumerate(op.regions):
        region.blocks[0].append_to(copy.regions[number])
    replace(op, copy.results)


def _address(op: ir.Operation, memory: ir.Value, indices: list[ir.Value]) -> ir.Value:
    """The address of an element."""
    type_ = ir.MemRefType(memory.type)
    strides, offset = type_.get_strides_and_offset()
    if any(stride < 0 for stride in (*strides, offset)):
        refuse(op, f"'{op.name}' of memory in pages whose strides are not known")
    i64 = b.integer_type(64)
    start = pointer_behind(memory)
    if start == memory:
        start = pointer_of(memory)
    place = b.index(offset)
    for index, stride in zip(indices, strides):
        place = b.add(place, b.mul(index, b.index(stride)))
    size = ELEMENT_SIZES[str(type_.element_type)]
    return b.add(b.ptrtoint(start, i64), b.index_cast(b.mul(place, b.index(size)), i64))


def _is_zero(op: ir.Operation) -> ir.Value:
    """Return whether an access certainly leaves only zeros, so that it needs no page."""
    if op.name != Memref.STORE:
        return b.number(0, b.integer_type(1))
    value = op.operands[0]
    if b.is_float(value.type):
        value = b.bitcast(value, b.integer_type(8 * ELEMENT_SIZES[str(value.type)]))
    return b.compare(b.EQ, value, b.number(0, value.type))
