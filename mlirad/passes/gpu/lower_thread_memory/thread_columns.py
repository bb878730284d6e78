"""Memory of each thread for itself, for `lower-thread-memory`: a column of a buffer that the host
allocates, or some bytes of the thread's allocate_for_thread."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import AllocaOp, array_of, element_type
from mlirad.dialect.grad import AllocOp, stack_element
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.box import fold
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer

LOCAL_BYTES = 128  # of an array that a thread keeps to itself


class Column(msgspec.Struct, frozen=True):
    """An array of a thread: in all threads' memory, where it lies beside those of the others, or in
    its allocate_for_thread."""

    memory: ir.Value
    element: ir.Type  # an index has 64 bits in memory
    thread: ir.Value | None = None

    def read(self, indices: Sequence[ir.Value]) -> ir.Value:
        """An element."""
        return _cast(b.read(self.memory, self._place(indices)), self.element)

    def write(self, value: ir.Value, indices: Sequence[ir.Value]) -> None:
        """Change an element."""
        stored = _cast(value, ir.MemRefType(self.memory.type).element_type)
        b.write(stored, self.memory, self._place(indices))

    def _place(self, indices: Sequence[ir.Value]) -> list[ir.Value]:
        return [*indices] if self.thread is None else [*indices, self.thread]


def _cast(value: ir.Value, type_: ir.Type) -> ir.Value:
    return value if value.type == type_ else b.index_cast(value, type_)


def element_of(op: ir.Operation) -> ir.Type:
    """The type of the elements of a stack or of a local array."""
    type_ = op.results[0].type
    return stack_element(type_) if AllocOp.holds(op) else element_type(type_)


def width_of(op: ir.Operation) -> int:
    """The bytes of an element."""
    return ELEMENT_SIZES[str(_stored_element(op))]


def _stored_element(op: ir.Operation) -> ir.Type:
    """The type of the elements in memory."""
    element = element_of(op)
    return b.integer_type(64) if isinstance(element, ir.IndexType) else element


def extents_of(op: ir.Operation) -> list[ir.Value]:
    """The extents of a stack or of a local array, made at the insertion point where they are
    known."""
    if AllocaOp.holds(op):
        return [b.index(extent) for extent in array_of(op.results[0].type)[1]]
    slots = constant_integer(op.operands[0])
    if slots is None:
        return [fold(Arith.MAXSI, op.operands[0], b.index(1))]
    return [b.index(max(1, slots))]


def is_short(op: ir.Operation) -> bool:
    """Return whether a stack or a local array is so small that a thread keeps it to itself."""
    if AllocaOp.holds(op):
        return width_of(op) * prod(array_of(op.results[0].type)[1]) <= LOCAL_BYTES
    slots = constant_integer(op.operands[0])
    return slots is not None and width_of(op) * slots <= LOCAL_BYTES


def allocate_for_threads(
    op: ir.Operation, extents: Sequence[ir.Value], threads: ir.Value | None
) -> ir.Value:
    """Memory of all threads, or of one, at the insertion point: that of neighbors lies side by
    side."""
    sizes = [*extents] if threads is None else [*extents, threads]
    constants = [constant_integer(size) for size in sizes]
    unknown = ir.ShapedType.get_dynamic_size()
    type_ = ir.MemRefType.get([unknown if k is None else k for k in constants], _stored_element(op))
    dynamic_sizes = [size for size, k in zip(sizes, constants) if k is None]
    return b.alloc(type_, dynamic_sizes)


def allocate_for_thread(op: ir.Operation, extents: Sequence[ir.Value]) -> ir.Value:
    """Memory of the thread that runs, of a known size."""
    sizes = [constant_integer(extent) for extent in extents]
    type_ = ir.MemRefType.get([size for size in sizes if size is not None], _stored_element(op))
    return b.alloca(type_)
