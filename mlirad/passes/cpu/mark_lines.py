"""Prepare functions for the scopes that debuggers read: every op has one line of the program, and
the functions of a derivative have its name.

Upstream's `ensure-debug-info-scope-on-llvm-func` refuses a call without a line, which conversions
make, and gives line 0 to an op of several lines. Behind this pass an op has the line that is named
first in its location; where that names none, or the text of a pass, the line of the op before it.
The kernel `f` and its loops, `f.chunk0`, become `f.reverse` and `f.reverse.chunk0` with the suffix
`.reverse`; the C interface, which others call, keeps its name.
"""

from __future__ import annotations

from typing import Annotated

from mlirad.bindings import ir
from mlirad.errors import SourceLocation
from mlirad.ir.limits import Letters
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import llvm_functions, operations

_INTERFACE = "_mlir_ciface_"  # what `convert-func-to-llvm` puts before the name of a kernel
_OUTLINED = "_kernels."  # what `gpu-kernel-outlining` puts behind it
_TEXT = "-"  # the file of what is parsed from text, as passes do
_NOWHERE = SourceLocation(_TEXT, 0, 0)


def mark_lines(module: ir.Operation, *, suffix: Annotated[str, Letters(64)] = "") -> None:
    """Give every op of a compiled function one line of the program, and the functions of a kernel
    names that end with the suffix of its mode."""
    functions = [*llvm_functions(module)]
    for function in functions:
        _mark_function(function)
    if suffix:
        _name_functions(module, functions, suffix)


def _mark_function(function: ir.Operation) -> None:
    ops = [function, *operations(function)]
    last = next(filter(None, (source_location(op.location) for op in ops)), _NOWHERE)
    is_text = last.file == _TEXT
    for op in ops:
        place = source_location(op.location)
        last = last if place is None or (place.file == _TEXT and not is_text) else place
        _move(op, last)


def _move(op: ir.Operation, place: SourceLocation) -> None:
    if not isinstance(op.location, ir.FileLineColLoc) or source_location(op.location) != place:
        op.location = ir.Location.file(place.file, place.line, place.column, op.context)


def _name_functions(module: ir.Operation, functions: list[ir.Operation], suffix: str) -> None:
    symbols = {symbol_of(function): function for function in functions}
    for kernel in [name for name in symbols if f"{_INTERFACE}{name}" in symbols]:
        for symbol, function in symbols.items():
            if symbol == kernel or symbol.startswith((f"{kernel}.", f"{kernel}{_OUTLINED}")):
                name = f"{kernel}{suffix}{symbol.removeprefix(kernel)}"
                ir.SymbolTable.replace_all_symbol_uses(symbol, name, module)
                function.attributes["sym_name"] = ir.StringAttr.get(name, function.context)
