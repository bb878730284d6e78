"""What passes take for granted: checked by `mlirad-opt`, where a program need not come from the frontend.

A pass lists what it needs as `REQUIRES`; each is called with what the pass is about to run on, and raises
TaichiCompilationError, with the place, where it does not hold.
"""
from __future__ import annotations

from collections.abc import Callable

from mlirad.bindings import ir
from mlirad.dialect.field import is_array
from mlirad.errors import TaichiCompilationError
from mlirad.passes._location import source_location
from mlirad.passes._walk import block_operations, functions, operations

Requirement = Callable[[ir.Operation], None]

_STRUCTURED = ("scf.for", "scf.if", "scf.while", "scf.parallel", "scf.reduce", "grad.custom", "grad.jvp")


def structured(root: ir.Operation) -> None:
    """Require functions of one block, in which only loops and branches of `scf` hold other operations."""
    for function in functions(root):
        _require_one_block(function)
        if block_operations(function.regions[0].blocks[0])[-1].name != "func.return":
            refuse(function, "a function that does not end in 'func.return'")
        for op in operations(function):
            if len(op.regions) and op.name not in _STRUCTURED:
                refuse(op, f"'{op.name}' within a function, expected loops and branches of 'scf' only")
            _require_one_block(op)


def known_arrays(root: ir.Operation) -> None:
    """Require arrays to be fields, locals and arguments of functions: others have no name to tell them apart by."""
    for function in functions(root):
        for op in operations(function):
            inner = [argument for region in op.regions for block in region.blocks for argument in block.arguments]
            made = [] if op.name in ("field.get", "field.alloca") else op.results
            if any(is_array(value.type) for value in (*made, *inner)):
                refuse(op, f"an array as a result or argument of '{op.name}', expected fields, locals and arguments of functions")


def calls_of_private_functions(root: ir.Operation) -> None:
    """Require calls to be made by public functions, of private ones with a body."""
    found = {symbol_of(function): function for function in functions(root)}
    for function in found.values():
        for op in operations(function):
            if op.name != "func.call":
                continue
            callee = found.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            if callee is None or not is_private(callee) or is_private(function):
                refuse(op, "a call, expected only those of private functions with a body by public ones: run inline first")


def symbol_of(op: ir.Operation) -> str:
    """The name of a symbol."""
    return ir.StringAttr(op.attributes["sym_name"]).value


def is_private(op: ir.Operation) -> bool:
    """Whether a symbol can be seen in its module only."""
    return "sym_visibility" in op.attributes


def _require_one_block(op: ir.Operation) -> None:
    for region in op.regions:
        if len(region.blocks) > 1:
            refuse(op, f"'{op.name}' holds {len(region.blocks)} blocks, expected structured control flow: "
                       "run lift-cf-to-scf first")


def refuse(op: ir.Operation, message: str) -> None:
    """Raise the error for an operation that a pass cannot take."""
    raise TaichiCompilationError(message, source_location(op.location))
