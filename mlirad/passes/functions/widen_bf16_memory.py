"""Keep numbers of 16 bits with the exponent of `f32`, which arrays cannot have, as those of 32.

What memory of a function's own holds is rounded when it is written, so that it is the same. Expects
memory that is only allocated, viewed, read, written and copied; what a function takes and gives
stays.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Memref
from mlirad.ir.walk import before, functions, operations, owner_operation

_KEEPING = (Memref.ALLOC, Memref.ALLOCA, Memref.CAST, Memref.SUBVIEW, Memref.REINTERPRET_CAST)
_SHAPED = (Memref.COLLAPSE_SHAPE, Memref.EXPAND_SHAPE, Memref.RESHAPE, Memref.TRANSPOSE)


def widen_bf16_memory(module: ir.Operation) -> None:
    """Store bf16 numbers in memory that a function allocates as f32."""
    for function in functions(module):
        widened: set[ir.Value] = set()
        for op in list(operations(function)):
            if op.name in _KEEPING + _SHAPED and _is_narrow(op.results[0].type):
                if op.name in (Memref.ALLOC, Memref.ALLOCA) or op.operands[0] in widened:
                    _widen(op.results[0])
                    widened.add(op.results[0])
            elif op.name in (Memref.LOAD, Memref.STORE):
                _convert(op, widened)


def _is_narrow(type_: ir.Type) -> bool:
    return isinstance(type_, ir.MemRefType) and isinstance(type_.element_type, ir.BF16Type)


def _widen(value: ir.Value) -> None:
    type_ = ir.MemRefType(value.type)
    f32 = ir.F32Type.get()
    value.set_type(
        ir.MemRefType.get(
            type_.shape, f32, type_.layout, type_.memory_space, owner_operation(value).location
        )
    )


def _convert(op: ir.Operation, widened: set[ir.Value]) -> None:
    """Round what is read, which is exact, and extend what is written."""
    if op.name == Memref.LOAD and op.operands[0] in widened:
        with before(op):
            memref, *indices = op.operands
            value = b.truncf(b.read(memref, indices), op.results[0].type)
        op.results[0].replace_all_uses_with(value)
        op.erase()
    elif op.name == Memref.STORE and op.operands[1] in widened:
        with before(op):
            op.operands[0] = b.extf(op.operands[0], ir.F32Type.get())
