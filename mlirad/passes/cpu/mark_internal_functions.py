"""Tell LLVM which functions only their module calls: of those that are inlined everywhere, nothing
is compiled by itself.

Every function that others may call is compiled, and the ExecutionEngine adds one that takes its
arguments packed; a kernel would be compiled into each of these. Behind this pass the only
function of a kernel that others may call is its C interface, into which it is inlined, and which
is inlined nowhere.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.marks.rare import RARE
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import llvm_functions

_COLD = '["cold"]'  # LLVM then expects that branches do not go there
_INTERFACE = "_mlir_ciface_"  # what `convert-func-to-llvm` puts before the name of a kernel


def mark_internal_functions(module: ir.Operation) -> None:
    """Make private functions internal, and those that have a C interface, which is not inlined."""
    for function in llvm_functions(module):
        if symbol_of(function).startswith(_INTERFACE):
            function.attributes["no_inline"] = ir.UnitAttr.get()
            continue
        if RARE in function.attributes:
            function.attributes["no_inline"] = ir.UnitAttr.get()
            function.attributes["passthrough"] = ir.Attribute.parse(_COLD)
        if _is_called_within(function):
            function.attributes["linkage"] = ir.Attribute.parse("#llvm.linkage<internal>")


def _is_called_within(function: ir.Operation) -> bool:
    """Return whether all calls of it are in the module."""
    attributes = function.attributes
    return "llvm.emit_c_interface" in attributes or (
        "sym_visibility" in attributes
        and ir.StringAttr(attributes["sym_visibility"]).value == "private"
    )
