"""Memrefs made from bare pointers, so that kernels take one pointer a field and LLVM knows that
they do not alias."""

from collections.abc import Sequence
from functools import lru_cache

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Builtin, Llvm, Memref
from mlirad.ir.walk import defining_op

_DYNAMIC = -(1 << 31)  # in place of an index that is an operand


@lru_cache(maxsize=1)
def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def strided_type(element: ir.Type, sizes: Sequence[int], strides: Sequence[int]) -> ir.Type:
    """A memref of known sizes and strides (in elements)."""
    shape = "x".join([*map(str, sizes), str(element)])
    if not sizes:
        return ir.Type.parse(f"memref<{shape}>")
    return ir.Type.parse(f"memref<{shape}, strided<[{', '.join(map(str, strides))}]>>")


def element_pointer(pointer: ir.Value, element: ir.Type, index: ir.Value | int) -> ir.Value:
    """The address of an element behind a pointer."""
    operands, constant = [pointer], _DYNAMIC
    if isinstance(index, int):
        constant = index
    else:
        operands.append(index)
    return b.make(
        Llvm.GETELEMENTPTR,
        pointer_type(),
        operands,
        elem_type=ir.TypeAttr.get(element),
        rawConstantIndices=ir.DenseI32ArrayAttr.get([constant]),
    )


def memref_at(
    pointer: ir.Value,
    type_: ir.Type,
    sizes: Sequence[ir.Value | int],
    strides: Sequence[ir.Value | int],
) -> ir.Value:
    """The memref of a type that starts at a pointer."""
    rank = len(sizes)
    arrays = f", array<{rank} x i64>, array<{rank} x i64>" if rank else ""
    struct = ir.Type.parse(f"!llvm.struct<(ptr, ptr, i64{arrays})>")
    value = b.make(Llvm.MLIR_POISON, struct, [])
    value = _insert(value, pointer, [0])
    value = _insert(value, pointer, [1])
    value = _insert(value, _word(0), [2])
    for axis in range(rank):
        value = _insert(value, _word(sizes[axis]), [3, axis])
        value = _insert(value, _word(strides[axis]), [4, axis])
    return b.unrealized_cast(value, type_)


def pointer_behind(memref: ir.Value) -> ir.Value:
    """The pointer that `memref_at` made a memref of; the memref itself where it did not."""
    op = defining_op(memref)
    if op is None or op.name != Builtin.UNREALIZED_CONVERSION_CAST:
        return memref
    value = op.operands[0]
    while (op := defining_op(value)) is not None and op.name == Llvm.INSERTVALUE:
        if list(ir.DenseI64ArrayAttr(op.attributes["position"])) == [1]:
            return op.operands[1]
        value = op.operands[0]
    return memref


def _insert(into: ir.Value, value: ir.Value, position: list[int]) -> ir.Value:
    place = ir.DenseI64ArrayAttr.get(position)
    return b.make(Llvm.INSERTVALUE, into.type, [into, value], position=place)


def _word(value: ir.Value | int) -> ir.Value:
    i64 = b.integer_type(64)
    return b.llvm_constant(value, i64) if isinstance(value, int) else b.index_cast(value, i64)


def pointer_of(memref: ir.Value) -> ir.Value:
    """The address of a memref's first element."""
    address = b.make(Memref.EXTRACT_ALIGNED_POINTER_AS_INDEX, b.index_type(), [memref])
    return b.inttoptr(b.index_cast(address, b.integer_type(64)), pointer_type())
