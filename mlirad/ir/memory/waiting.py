"""Memory that waits to be cleared, or to be put back: which does, and from how many bytes on."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, element_type
from mlirad.dialect.field_layout import layouts
from mlirad.dialect.snode import duals_of, places

LEAST = 1 << 18
# of all elements with one first index, which are then cleared, or put back, by themselves
LEAST_ROW, LEAST_KEPT_ROW = 1 << 18, 1 << 14


def derivatives(module: ir.Operation) -> set[str]:
    """The names of the fields that hold derivatives of others."""
    found = {name for place in places(module) for name in duals_of(place)}
    adjoints = [
        place.attributes["adjoint"] for place in places(module) if "adjoint" in place.attributes
    ]
    return found | {ir.FlatSymbolRefAttr(name).value for name in adjoints}


def bytes_of(array: ir.Type) -> int:
    """The size of an array whose extents are known."""
    element = element_type(array)
    is_integer = isinstance(element, ir.IntegerType)
    width = ir.IntegerType(element).width if is_integer else ir.FloatType(element).width
    return prod(array_of(array)[1]) * -(-width // 8)


def has_large_rows(array: ir.Type, *, is_derivative: bool) -> bool:
    """Return whether an array may wait, and its rows are large enough to do so apart."""
    extents, size = array_of(array)[1], bytes_of(array)
    if not extents or extents[0] < 2 or min(extents) < 1:
        return False
    least = LEAST_ROW if is_derivative else LEAST_KEPT_ROW
    return size >= LEAST and size >= least * extents[0]


def lies_in_order(module: ir.Operation, name: str) -> bool:
    """Return whether the elements of a field lie side by side in the order of their indices: of
    others, no rows wait to be cleared while some do not."""
    layout = layouts(module)[name]
    sizes = [layout.size * prod(layout.element_shape[k:]) for k in range(len(layout.element_shape))]
    return layout.element_strides == (*sizes[1:], layout.size)
