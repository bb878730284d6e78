"""Let C interfaces say of estimates what `insert-root-estimates` says of the functions that they
are made for: code is compiled by what is said where it is inlined."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.walk import llvm_functions

_OF_FUNCTION, _OF_INTERFACE = "passthrough", "llvm.passthrough"


def mark_unrefined_estimates(module: ir.Operation) -> None:
    """Give C interfaces the attributes for LLVM that their functions have."""
    for function in llvm_functions(module):
        if _OF_INTERFACE in function.attributes:
            function.attributes[_OF_FUNCTION] = function.attributes[_OF_INTERFACE]
            del function.attributes[_OF_INTERFACE]
