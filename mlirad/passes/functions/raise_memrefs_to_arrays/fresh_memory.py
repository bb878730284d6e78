"""Memory of a function that other memory becomes: typed views of bytes, and what is extended."""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir.ops import Memref
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import constant_integer, defining_op


class ByteView(msgspec.Struct, frozen=True):
    """A view of bytes: the first one and the one behind the last, and what it is called."""

    first: int
    behind: int
    op: ir.Operation

    def overlaps(self, other: ByteView) -> bool:
        """Return whether two have a byte in common."""
        return self.first < other.behind and other.first < self.behind

    def is_like(self, other: ByteView) -> bool:
        """Return whether two are views of the same elements."""
        types = [view.op.results[0].type for view in (self, other)]
        return self.first == other.first and types[0] == types[1]


def byte_view(op: ir.Operation) -> ByteView:
    """Return what a `memref.view` is of: bytes of an allocation that nothing but views use."""
    allocation, type_ = defining_op(op.operands[0]), ir.MemRefType(op.results[0].type)
    first = constant_integer(op.operands[1])
    element = str(type_.element_type)
    if first is None or not type_.has_static_shape or element not in ELEMENT_SIZES:
        refuse(op, f"'{op.name}' to '{type_}': expected a place and extents that are known")
    users = [] if allocation is None else [use.owner.name for use in allocation.results[0].uses]
    if allocation is None or allocation.name not in (Memref.ALLOC, Memref.ALLOCA):
        refuse(op, f"'{op.name}' of memory that the function has not allocated")
    if any(name not in (Memref.VIEW, Memref.DEALLOC) for name in users):
        refuse(op, f"'{op.name}' of bytes that are used otherwise, too")
    size = ELEMENT_SIZES[element]
    for extent in type_.shape:
        size *= extent
    return ByteView(first, first + size, op)


def require_apart(view: ByteView, earlier: list[ByteView]) -> None:
    """Require a view to have no byte of earlier ones, which are of other elements."""
    for other in earlier:
        if view.overlaps(other):
            place = source_location(other.op.location)
            refuse(view.op, f"'{view.op.name}' of bytes that another view has, at {place}")
