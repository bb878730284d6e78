"""Write down every access to memory that threads may share: what a check for data races reads.

The log lies at an address that is given, in words of 8 bytes: how many records it has, how many
fit, and two words a record. A record is an address, and bytes | what << 32 | line << 40. Records
that do not fit are counted only. Nothing orders the records of threads: who reads them runs the
pieces of a loop one after the other (`runtime/cpu/worker_code.py`).

Behind the last pass that changes accesses, so that lanes, sums of threads and private copies are
there as they will run. What a function keeps on its own stack is left out; memory that it
allocates is noted as such, and so is where the stack of a piece begins.
"""

from __future__ import annotations

from enum import IntEnum
from math import prod
from typing import Annotated

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.limits import Range
from mlirad.ir.memory.descriptor import pointer_type
from mlirad.ir.ops import Llvm
from mlirad.ir.reports.location import nearest_location
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import (
    at_start,
    before,
    behind,
    block_operations,
    defining_op,
    entry_of,
    llvm_functions,
    operations,
)


class RecordKind(IntEnum):
    """The kind of an event at an address."""

    READ = 0
    WRITE = 1
    UPDATE = 2  # atomic
    ALLOCATE = 3
    FREE = 4
    STACK = 5  # a piece's own, which goes down from here


LINE = 40  # the bit where a line begins
_WHAT = 32
_NAME = "record.access"
_POINTERS = {
    Llvm.LOAD: [(0, RecordKind.READ)],
    Llvm.STORE: [(1, RecordKind.WRITE)],
    Llvm.ATOMICRMW: [(0, RecordKind.UPDATE)],
    Llvm.CMPXCHG: [(0, RecordKind.UPDATE)],
    Llvm.INTR_MEMCPY: [(1, RecordKind.READ), (0, RecordKind.WRITE)],
    Llvm.INTR_MEMMOVE: [(1, RecordKind.READ), (0, RecordKind.WRITE)],
    Llvm.INTR_MEMSET: [(0, RecordKind.WRITE)],
    Llvm.INTR_MASKED_LOAD: [(0, RecordKind.READ)],
    Llvm.INTR_MASKED_STORE: [(1, RecordKind.WRITE)],
    Llvm.INTR_MASKED_GATHER: [(0, RecordKind.READ)],
    Llvm.INTR_MASKED_SCATTER: [(1, RecordKind.WRITE)],
}
_LENGTHS = {Llvm.INTR_MEMCPY: 2, Llvm.INTR_MEMMOVE: 2, Llvm.INTR_MEMSET: 2}
_MASKS = {
    Llvm.INTR_MASKED_LOAD: 1,
    Llvm.INTR_MASKED_STORE: 2,
    Llvm.INTR_MASKED_GATHER: 1,
    Llvm.INTR_MASKED_SCATTER: 2,
}
_INDICES = {Llvm.GETELEMENTPTR, Llvm.SEXT, Llvm.ZEXT}
_HARMLESS = {
    Llvm.GETELEMENTPTR,
    Llvm.PTRTOINT,
    Llvm.ICMP,
    Llvm.CALL,
    Llvm.RETURN,
    Llvm.BR,
    Llvm.COND_BR,
    Llvm.SELECT,
    Llvm.INSERTVALUE,
    Llvm.EXTRACTVALUE,
    Llvm.INSERTELEMENT,
    Llvm.SHUFFLEVECTOR,
    Llvm.INTR_LIFETIME_START,
    Llvm.INTR_LIFETIME_END,
    Llvm.INTR_ASSUME,
    Llvm.INTR_PREFETCH,
}
_ALLOCATES = {"malloc": 0, "realloc": 1}  # the operand that is the size
_FREES = "free"

_TEXT = """
llvm.func internal @{name}(%is_made: i1, %address: i64, %word: i64)
    attributes {{no_inline}} {{
  llvm.cond_br %is_made, ^count, ^end
^count:
  %one = llvm.mlir.constant(1 : i64) : i64
  %two = llvm.mlir.constant(2 : i64) : i64
  %place = llvm.mlir.constant({log} : i64) : i64
  %log = llvm.inttoptr %place : i64 to !llvm.ptr
  %most_place = llvm.getelementptr %log[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %count = llvm.load %log : !llvm.ptr -> i64
  %most = llvm.load %most_place : !llvm.ptr -> i64
  %more = llvm.add %count, %one : i64
  llvm.store %more, %log : i64, !llvm.ptr
  %fits = llvm.icmp "slt" %count, %most : i64
  llvm.cond_br %fits, ^write, ^end
^write:
  %twice = llvm.mul %count, %two : i64
  %first = llvm.getelementptr %log[%twice] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
  %record = llvm.getelementptr %log[%more] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<2 x i64>
  %second = llvm.getelementptr %record[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %address, %record : i64, !llvm.ptr
  llvm.store %word, %second : i64, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}}
"""


def record_accesses(module: ir.Operation, *, log: Annotated[int, Range(8, 2**63 - 1)] = 8) -> None:
    """Before every access, call a function that writes the access to the log at an address."""
    present = list(llvm_functions(module))
    pieces = {
        ir.FlatSymbolRefAttr(op.attributes["global_name"]).value
        for op in operations(module)
        if op.name == Llvm.MLIR_ADDRESSOF
    }
    for function in present:
        for op in list(operations(function)):
            _record(op)
        if symbol_of(function) in pieces:
            with at_start(entry_of(function), function.location):
                _note(_number(1, 1), _stack(), _word(RecordKind.STACK))
    log_module = ir.Module.parse(_TEXT.format(name=_NAME, log=log))
    with at_start(module.regions[0].blocks[0], module.location):
        for op in block_operations(log_module.body):
            op.clone()


def _record(op: ir.Operation) -> None:
    if op.name == Llvm.CALL:
        _record_call(op)
    elif op.name in _POINTERS:
        for position, record_kind in _POINTERS[op.name]:
            if not _is_own(op.operands[position]):
                with before(op):
                    _record_access(op, op.operands[position], record_kind)
    elif op.name not in _HARMLESS and any(_is_pointer(value.type) for value in op.operands):
        refuse(op, f"an op of which no record is known: {op.name}")


def _record_call(op: ir.Operation) -> None:
    callee = op.attributes.get("callee", None)
    name = "" if callee is None else ir.FlatSymbolRefAttr(callee).value
    if name in _ALLOCATES:
        with behind(op):
            word = _word(RecordKind.ALLOCATE, _line(op), op.operands[_ALLOCATES[name]])
            _note(_number(1, 1), op.results[0], word)
    elif name == _FREES:
        with before(op):
            _note(_number(1, 1), op.operands[0], _word(RecordKind.FREE, _line(op)))


def _record_access(op: ir.Operation, pointer: ir.Value, record_kind: RecordKind) -> None:
    if op.name in _LENGTHS:
        _note(_number(1, 1), pointer, _word(record_kind, _line(op), op.operands[_LENGTHS[op.name]]))
        return
    accessed = op.operands[0].type if record_kind is RecordKind.WRITE else op.results[0].type
    if op.name == Llvm.CMPXCHG:
        accessed = op.operands[1].type
    if op.name not in _MASKS:
        _note(_number(1, 1), pointer, _word(record_kind, _line(op), _number(_bytes(accessed))))
        return
    element = _bytes(ir.VectorType(accessed).element_type)
    word = _word(record_kind, _line(op), _number(element))
    mask = _mask(op, pointer)
    for lane in range(ir.VectorType(accessed).shape[0]):
        number = _number(lane)
        is_on = b.make(Llvm.EXTRACTELEMENT, b.integer_type(1), [mask, number])
        if isinstance(pointer.type, ir.VectorType):
            _note(is_on, b.make(Llvm.EXTRACTELEMENT, pointer_type(), [pointer, number]), word)
        else:
            _note(is_on, pointer, word, lane * element)


def _mask(op: ir.Operation, pointer: ir.Value) -> ir.Value:
    """Return which lanes are on, or used: a gather without a mask, which is the faster one, reads
    the first element where it should not read."""
    mask: ir.Value = op.operands[_MASKS[op.name]]
    pointer_op = defining_op(pointer)
    while pointer_op is not None and pointer_op.name in _INDICES:
        pointer_op = defining_op(pointer_op.operands[-1])
    if pointer_op is None or pointer_op.name != Llvm.SELECT or op.name != Llvm.INTR_MASKED_GATHER:
        return mask
    return pointer_op.operands[0] if pointer_op.operands[0].type == mask.type else mask


def _note(is_made: ir.Value, pointer: ir.Value, word: ir.Value, behind: int = 0) -> None:
    address = b.ptrtoint(pointer, b.integer_type(64))
    if behind:
        address = b.make(Llvm.ADD, b.integer_type(64), [address, _number(behind)])
    b.llvm_call(_NAME, [is_made, address, word])


def _word(record_kind: RecordKind, line: int = 0, length: ir.Value | None = None) -> ir.Value:
    word = _number(record_kind << _WHAT | line << LINE)
    return word if length is None else b.make(Llvm.OR, b.integer_type(64), [length, word])


def _number(value: int, bits: int = 64) -> ir.Value:
    return b.llvm_constant(value, b.integer_type(bits))


def _line(op: ir.Operation) -> int:
    place = nearest_location(op)
    return 0 if place is None else place.line


def _stack() -> ir.Value:
    """Return where the frame of the function begins that this is in."""
    return b.call_intrinsic("frameaddress.p0", [_number(0, 32)], pointer_type())


def _is_own(pointer: ir.Value) -> bool:
    """Return whether a pointer is known to go to the stack of its function."""
    pointer_op = defining_op(pointer)
    while pointer_op is not None and pointer_op.name == Llvm.GETELEMENTPTR:
        pointer_op = defining_op(pointer_op.operands[0])
    return pointer_op is not None and pointer_op.name == Llvm.ALLOCA


def _is_pointer(type_: ir.Type) -> bool:
    return b.element_of(type_) == pointer_type()


def _bytes(type_: ir.Type) -> int:
    if isinstance(type_, ir.VectorType):
        return prod(type_.shape) * _bytes(type_.element_type)
    if isinstance(type_, ir.IntegerType):
        return max(1, type_.width // 8)
    return 8 if type_ == pointer_type() else ir.FloatType(type_).width // 8
