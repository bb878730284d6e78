"""Memrefs made from bare pointers, so that kernels take one pointer a field and LLVM knows that
they do not alias."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.build import index_type, integer_type, make
from mlirad.ir.walk import defining_op

_INSERT = "llvm.insertvalue"


def pointer_type() -> ir.Type:
    """`!llvm.ptr`."""
    return ir.Type.parse("!llvm.ptr")


def strided_type(element: ir.Type, sizes: Sequence[int], strides: Sequence[int]) -> ir.Type:
    """A memref of known sizes and strides (in elements)."""
    shape = "x".join([*map(str, sizes), str(element)])
    if not sizes:
        return ir.Type.parse(f"memref<{shape}>")
    return ir.Type.parse(f"memref<{shape}, strided<[{', '.join(map(str, strides))}]>>")


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
    value = make("llvm.mlir.poison", struct, [])
    value = _insert(value, pointer, [0])
    value = _insert(value, pointer, [1])
    value = _insert(value, _word(0), [2])
    for axis in range(rank):
        value = _insert(value, _word(sizes[axis]), [3, axis])
        value = _insert(value, _word(strides[axis]), [4, axis])
    return make("builtin.unrealized_conversion_cast", type_, [value])


def pointer_behind(memref: ir.Value) -> ir.Value:
    """The pointer that `memref_at` made a memref of; the memref itself where it did not."""
    op = defining_op(memref)
    if op is None or op.name != "builtin.unrealized_conversion_cast":
        return memref
    value = op.operands[0]
    while (op := defining_op(value)) is not None and op.name == _INSERT:
        if list(ir.DenseI64ArrayAttr(op.attributes["position"])) == [1]:
            return op.operands[1]
        value = op.operands[0]
    return memref


def _insert(into: ir.Value, value: ir.Value, position: list[int]) -> ir.Value:
    return make(_INSERT, into.type, [into, value], position=ir.DenseI64ArrayAttr.get(position))


def _word(value: ir.Value | int) -> ir.Value:
    i64 = integer_type(64)
    if isinstance(value, int):
        return make("llvm.mlir.constant", i64, [], value=ir.IntegerAttr.get(i64, value))
    return make("arith.index_cast", i64, [value])


def pointer_of(memref: ir.Value) -> ir.Value:
    """The address of a memref's first element."""
    i64 = integer_type(64)
    address = make("memref.extract_aligned_pointer_as_index", index_type(), [memref])
    return make("llvm.inttoptr", pointer_type(), [make("arith.index_cast", i64, [address])])
