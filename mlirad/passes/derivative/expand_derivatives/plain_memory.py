"""The body of a kernel on arrays, as code on memrefs in another function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AllocaOp, AssertOp, atomic_kind, split_access
from mlirad.dialect.grad import CustomOp, YieldOp
from mlirad.ir import build as b
from mlirad.ir.ops import Cf, Memref
from mlirad.ir.requirements import refuse
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import ancestors, before, block_operations, entry_of, operations, replace
from mlirad.passes.derivative.expand_derivatives.storage import clear

# of floats, by the number of `arith.atomic_rmw_kind`
_KINDS = {"add": 0, "exchange": 3, "max": 4, "min": 8, "mul": 12}
_OURS = ("field", "grad", "snode")
# functions with rules, which are differentiated by these again
_RULES = (CustomOp.OPERATION_NAME, YieldOp.OPERATION_NAME)

Memories = dict[ir.Value, ir.Value]


def move_body(kernel: ir.Operation, memories: Sequence[ir.Value]) -> None:
    """Move the operations of a kernel to the insertion point; what its arguments stand for is
    given, memory for arrays."""
    entry = entry_of(kernel)
    of_array: Memories = dict(zip(entry.arguments, memories, strict=True))
    for op in list(operations(kernel)):
        _unmark(op)
        if op.name in _HANDLERS:
            with before(op):
                _HANDLERS[op.name](op, of_array)
        elif op.name.partition(".")[0] in _OURS and op.name not in _RULES:
            refuse(op, f"'{op.name}' has no counterpart on memrefs")
    for op in [op for op in operations(kernel) if AllocaOp.holds(op)]:
        op.erase()
    for argument, memory in zip(entry.arguments, memories):
        if not field.is_array(argument.type):
            argument.replace_all_uses_with(memory)
    anchor = ir.InsertionPoint.current.ref_operation
    assert anchor is not None
    for op in block_operations(entry)[:-1]:
        op.move_before(anchor)


def _unmark(op: ir.Operation) -> None:
    """Drop what the sweeps note for passes on kernels."""
    for name in [*op.attributes]:
        if name.startswith(("grad.", "field.")):
            del op.attributes[name]


def _read(memory: ir.Value, indices: Sequence[ir.Value], type_: ir.Type) -> ir.Value:
    value = b.read(memory, indices)
    return value if value.type == type_ else b.index_cast(value, type_)


def _write(value: ir.Value, memory: ir.Value, indices: Sequence[ir.Value]) -> None:
    element = ir.MemRefType(memory.type).element_type
    b.write(value if value.type == element else b.to_index(value), memory, indices)


def _alloca(op: ir.Operation, memories: Memories) -> None:
    """A local array, of zeros at first; its accesses, which are behind it, look it up."""
    element, extents = field.array_of(op.results[0].type)
    memory = b.alloca(ir.MemRefType.get(extents, ir.Type.parse(element)))
    clear(memory)
    memories[op.results[0]] = memory


def _load(op: ir.Operation, memories: Memories) -> None:
    array, indices = split_access(op)
    replace(op, [_read(memories[array], indices, op.results[0].type)])


def _store(op: ir.Operation, memories: Memories) -> None:
    array, indices = split_access(op)
    _write(op.operands[0], memories[array], indices)
    op.erase()


def _atomic(op: ir.Operation, memories: Memories) -> None:
    """An update, which is one operation where other iterations may do it at the same time."""
    array, indices = split_access(op)
    value, kind = op.operands[0], atomic_kind(op)
    if any(map(is_parallel, ancestors(op))):
        if kind not in _KINDS:
            refuse(op, f"an atomic {kind} has no counterpart on memrefs")
        operands = [value, memories[array], *indices]
        number = ir.IntegerAttr.get(b.integer_type(64), _KINDS[kind])
        replace(op, [b.make(Memref.ATOMIC_RMW, value.type, operands, kind=number)])
        return
    old = _read(memories[array], indices, value.type)
    _write(b.combine(kind, old, value), memories[array], indices)
    replace(op, [old])


def _dim(op: ir.Operation, memories: Memories) -> None:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    memory = memories[op.operands[0]]
    replace(op, [b.make(Memref.DIM, b.index_type(), [memory, b.index(axis)])])


def _assert(op: ir.Operation, memories: Memories) -> None:
    """A condition of the function's own."""
    condition, *values = op.operands
    if values:
        refuse(op, "an assertion with numbers in its message has no counterpart on memrefs")
    text = field.restore_braces(ir.StringAttr(op.attributes["message"]).value)
    b.effect(Cf.ASSERT, [condition], msg=ir.StringAttr.get(text))
    op.erase()


def _fetch(op: ir.Operation, memories: Memories) -> None:
    """Values that the host has to know: there is no host."""
    replace(op, op.operands)


_HANDLERS: dict[str, Callable[[ir.Operation, Memories], None]] = {
    AllocaOp.OPERATION_NAME: _alloca,
    AssertOp.OPERATION_NAME: _assert,
    field.LoadOp.OPERATION_NAME: _load,
    field.StoreOp.OPERATION_NAME: _store,
    field.AtomicOp.OPERATION_NAME: _atomic,
    field.DimOp.OPERATION_NAME: _dim,
    field.FetchOp.OPERATION_NAME: _fetch,
}
