"""Memory of a device, as the host's code sees it: the host allocates it, hands it to kernels, and
copies from it. Each of these comes behind the launches before it."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Gpu, Memref
from mlirad.ir.walk import defining_op


def allocate(type_: ir.Type, sizes: Sequence[ir.Value]) -> ir.Value:
    """`gpu.alloc`: memory of a type, with sizes for its dynamic extents."""
    segments = ir.DenseI32ArrayAttr.get([0, len(sizes), 0])
    return b.make(Gpu.ALLOC, type_, sizes, operandSegmentSizes=segments)


def release(memory: ir.Value) -> None:
    """`gpu.dealloc`."""
    b.effect(Gpu.DEALLOC, [memory])


def copy_to_host(memory: ir.Value) -> ir.Value:
    """A copy of memory of known size on the stack of the host, when the launches before have
    ended."""
    copy = b.alloca(memory.type)
    b.effect(Gpu.MEMCPY, [copy, memory])
    return copy


def is_of_device_memory(op: ir.Operation) -> bool:
    """Return whether an op of the host allocates memory of the device, releases it, or reads a
    copy."""
    if op.name in (Gpu.ALLOC, Gpu.DEALLOC, Gpu.MEMCPY):
        return True
    if op.name == Memref.LOAD:
        maker = defining_op(op.operands[0])
        return maker is not None and _is_copy(maker)
    return _is_copy(op)


def _is_copy(op: ir.Operation) -> bool:
    """Return whether an op makes the memory of a copy on the host."""
    return op.name == Memref.ALLOCA and any(
        use.owner.name == Gpu.MEMCPY for use in op.results[0].uses
    )
