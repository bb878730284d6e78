"""Let C interfaces say of estimates what `insert-root-estimates` says of the functions that they
are made for: code is compiled by what is said where it is inlined."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.walk import operations

_OF_FUNCTION, _OF_INTERFACE = "passthrough", "llvm.passthrough"


def mark_unrefined_estimates(module: ir.Operation) -> None:
    """Give C interfaces the attributes for LLVM that their functions have."""
    for op in operations(module):
        if op.name == Llvm.FUNC and _OF_INTERFACE in op.attributes:
            op.attributes[_OF_FUNCTION] = op.attributes[_OF_INTERFACE]
            del op.attributes[_OF_INTERFACE]
