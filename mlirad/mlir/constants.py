"""Memory of a module that no function writes to."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_write, split_access
from mlirad.ir.marks.roles import ROLE, Role
from mlirad.ir.ops import Memref
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.walk import block_operations, entry_of, functions, operations


def require_constants(module: ir.Operation) -> None:
    """Refuse writes to a `memref.global` that is constant, in functions on arrays."""
    constants = {
        symbol_of(op)
        for op in block_operations(module.regions[0].blocks[0])
        if op.name == Memref.GLOBAL and "constant" in op.attributes
    }
    for function in functions(module) if constants else ():
        symbols = _symbols(function)
        for op in operations(function):
            symbol = symbols.get(split_access(op)[0]) if is_write(op) else None
            if symbol in constants:
                refuse(op, f"cannot write to '@{symbol}', which is constant")


def _symbols(function: ir.Operation) -> dict[ir.Value, str]:
    """Return what arguments are memory of the module, by its symbol."""
    symbols = dict[ir.Value, str]()
    for argument, label in zip(entry_of(function).arguments, parameter_attributes(function)):
        role = list(ir.ArrayAttr(label[ROLE])) if ROLE in label else []
        if len(role) > 1 and ir.StringAttr(role[0]).value == Role.CONSTANT:
            symbols[argument] = ir.FlatSymbolRefAttr(role[1]).value
    return symbols
