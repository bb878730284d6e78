"""One function for all that are written alike: of the chunks of a recurrence's steps, and of layers
that are made in a loop, one is compiled.

Functions are alike where their text is but for the name, with the lines of the program that it
comes from: what is said of one is true of all.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.ops import Func
from mlirad.ir.requirements import calls_of_private_functions, is_private, symbol_of
from mlirad.ir.walk import functions, operations

REQUIRES = (calls_of_private_functions,)


def merge_equal_functions(module: ir.Operation) -> None:
    """Replace calls of private functions with equal bodies by calls of the first of them."""
    first: dict[str, ir.Attribute] = {}
    merged: dict[ir.Attribute, ir.Attribute] = {}
    private = [candidate for candidate in functions(module) if is_private(candidate)]
    for function in private if len(private) > 1 else ():
        name = _symbol(function)
        first_name = first.setdefault(_text(function), name)
        if first_name != name:
            merged[name] = first_name
            function.erase()
    for op in operations(module) if merged else ():
        if op.name == Func.CALL and op.attributes["callee"] in merged:
            op.attributes["callee"] = merged[op.attributes["callee"]]


def _symbol(function: ir.Operation) -> ir.Attribute:
    """A reference to it."""
    return ir.FlatSymbolRefAttr.get(symbol_of(function))


def _text(function: ir.Operation) -> str:
    """All but the name: what stands behind it."""
    text = function.get_asm(enable_debug_info=True, use_local_scope=True)
    return text.partition("(")[2]
