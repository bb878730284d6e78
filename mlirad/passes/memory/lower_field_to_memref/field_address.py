"""Addresses of the elements of a field, for `lower-field-to-memref`: there is a digit of an index
for each block above it, of whatever kind."""

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect.field_layout import FieldLayout, Level
from mlirad.ir.build import integer_type
from mlirad.ir.memory.descriptor import memref_at, strided_type
from mlirad.ir.signature import SLAB, Attributes
from mlirad.passes.memory.lower_field_to_memref.division import divide_index


def field_memref(layout: FieldLayout, pointer: ir.Value) -> ir.Value:
    """The elements of a field whose first one is at a pointer, as a strided memref with an axis for
    each block above it."""
    sizes = list(layout.element_shape)
    strides = [stride // layout.size for stride in layout.element_strides]
    type_ = strided_type(ir.Type.parse(layout.element), sizes, strides)
    return memref_at(pointer, type_, sizes, strides)


def slab_mark(layout: FieldLayout) -> Attributes:
    """Return what says how large the slabs of a field are that the first axis counts."""
    strides = [stride // layout.size for stride in layout.element_strides]
    axes = list(zip(layout.element_shape, strides))[1:]
    if layout.rank < 2 or strides[0] <= sum((size - 1) * stride for size, stride in axes):
        return {}
    return {SLAB: ir.IntegerAttr.get(integer_type(64), strides[0])}


def element_indices(layout: FieldLayout, indices: Sequence[ir.Value]) -> list[ir.Value]:
    """The indices of an access to a field as indices of its memref."""
    memref_indices: list[ir.Value] = []
    for axis in range(layout.rank):
        levels = layout.of_axis(axis)
        memref_indices += _digits(indices[axis], levels)
    return [*memref_indices, *indices[layout.rank :]]


def _digits(index: ir.Value, levels: Sequence[Level]) -> list[ir.Value]:
    """An index as one number a level, outermost first."""
    digits = []
    for level in reversed(levels[1:]):
        index, digit = divide_index(index, level.extent)
        digits.append(digit)
    return [index, *reversed(digits)]
