"""Memory of derivatives that waits to be cleared: which does, and from how many bytes on."""

from __future__ import annotations

from math import prod

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, element_type
from mlirad.dialect.snode import duals_of, places

LEAST = 1 << 18
LEAST_ROW = 1 << 18  # of all elements with one first index, which are then cleared by themselves


def derivatives(module: ir.Operation) -> set[str]:
    """The names of the fields that hold derivatives of others."""
    found = {name for place in places(module) for name in duals_of(place)}
    adjoints = [
        place.attributes["adjoint"] for place in places(module) if "adjoint" in place.attributes
    ]
    return found | {ir.FlatSymbolRefAttr(name).value for name in adjoints}


def bytes_of(array: ir.Type) -> int:
    """The size of an array whose extents are known."""
    return prod(array_of(array)[1]) * (ir.FloatType(element_type(array)).width // 8)
