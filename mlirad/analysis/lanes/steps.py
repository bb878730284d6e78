"""Distances in memory between iterations that run as lanes."""

from __future__ import annotations

from mlirad.analysis.lanes.strides import Strides
from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.bindings import ir
from mlirad.ir.ops import Memref

DYNAMIC = ir.ShapedType.get_dynamic_size()
_PAGE = 1024  # elements of a page of memory


def accessed_element(op: ir.Operation) -> tuple[ir.Value, list[ir.Value]] | None:
    """The array and the indices of a load or a store; None of another op."""
    if op.name not in (Memref.LOAD, Memref.STORE):
        return None
    memref, *indices = list(op.operands)[op.name == Memref.STORE :]
    return memref, indices


def address_step(strides: Strides, memref: ir.Value, indices: list[ir.Value]) -> int | None:
    """Return by how many elements lanes are apart in memory; None where that is not known."""
    steps, _ = ir.MemRefType(memref.type).get_strides_and_offset()
    total = 0
    for index, step in zip(indices, steps):
        stride = strides.stride_of(index)
        if stride is None or (stride and step == DYNAMIC):
            return None
        total += stride * step if stride else 0
    return total


def element_sum(memref: ir.Value, indices: list[ir.Value]) -> Linear[ir.Value]:
    """Return which element of memory an access to an array of known strides is to, from where its
    indices are 0."""
    steps, _ = ir.MemRefType(memref.type).get_strides_and_offset()
    total: Linear[ir.Value] = number(0)
    for index, step in zip(indices, steps):
        total = total.plus(linear_form(index), step)
    return total


def covered_elements(type_: ir.MemRefType) -> int:
    """Return how many elements lie from the first of an array to its last; DYNAMIC if that is not
    known."""
    steps, _ = type_.get_strides_and_offset()
    if not type_.has_static_shape or DYNAMIC in steps:
        return DYNAMIC
    return 1 + sum((extent - 1) * step for extent, step in zip(type_.shape, steps))


def spread_over(
    strides: Strides, memref: ir.Value, indices: list[ir.Value]
) -> tuple[ir.Value, ...] | None:
    """Return a key of the pages of the lanes, each in its own, which differ by 1 in an index: the
    array and indices that are the same in all lanes; None if the lanes are close together."""
    steps, _ = ir.MemRefType(memref.type).get_strides_and_offset()
    far = [i for i, step in zip(indices, steps) if step == DYNAMIC or abs(step) >= _PAGE]
    same = [index for index in far if strides.is_uniform(index)]
    return (memref, *same) if len(same) < len(far) else None
