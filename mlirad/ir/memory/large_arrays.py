"""Arrays that are large enough for deferred writes (docs/deferred-writes.md), and rows of them."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, element_type
from mlirad.dialect.snode import duals_of, places

LEAST = 1 << 18  # bytes
LEAST_ROW = 1 << 14  # of a row, to which zeros, or copies, are then written by themselves


def derivatives(module: ir.Operation) -> set[str]:
    """The names of the fields that hold derivatives of others."""
    names = {name for place in places(module) for name in duals_of(place)}
    adjoints = [
        place.attributes["adjoint"] for place in places(module) if "adjoint" in place.attributes
    ]
    return names | {ir.FlatSymbolRefAttr(name).value for name in adjoints}


def bytes_of(array: ir.Type) -> int:
    """The size of an array whose extents are known."""
    return prod(array_of(array)[1]) * bytes_of_number(element_type(array))


def bytes_of_memref(type_: ir.Type) -> int:
    """The size of a memref's elements; 0 where it is not known, or they are not numbers."""
    memory = ir.MemRefType(type_)
    if not isinstance(memory.element_type, ir.FloatType | ir.IntegerType):
        return 0
    return prod(memory.shape) * bytes_of_number(memory.element_type) * memory.has_static_shape


def bytes_of_number(type_: ir.Type) -> int:
    """The size of a float, an integer, or an index."""
    if isinstance(type_, ir.IndexType):
        return 8
    is_integer = isinstance(type_, ir.IntegerType)
    width = ir.IntegerType(type_).width if is_integer else ir.FloatType(type_).width
    return -(-width // 8)


def has_large_rows(array: ir.Type) -> bool:
    """Return whether the rows of a large array, all elements with one first index, are large."""
    extents, size = array_of(array)[1], bytes_of(array)
    if not extents or extents[0] < 2 or min(extents) < 1:
        return False
    return size >= LEAST and size >= LEAST_ROW * extents[0]
