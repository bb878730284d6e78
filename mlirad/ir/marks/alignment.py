"""Accesses to elements whose addresses are known multiples of more bytes than an element has."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b

# Of a load, a store or a plain update: bytes of which its address is a multiple.
ALIGNED = "field.aligned"


def mark_aligned(op: ir.Operation, size: int) -> None:
    """Say that the element of an access lies at a multiple of `size` bytes."""
    op.attributes[ALIGNED] = ir.IntegerAttr.get(b.integer_type(64), size)


def alignment_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """Return the attributes by which `memref.load` and `memref.store` say so."""
    return {"alignment": op.attributes[ALIGNED]} if ALIGNED in op.attributes else {}
