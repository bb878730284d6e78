"""Functions that call themselves, directly or by others."""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.bindings import ir
from mlirad.dialect.snode import module_of
from mlirad.ir.ops import Func
from mlirad.ir.requirements import symbol_of, symbols_in
from mlirad.ir.walk import functions, operations
from mlirad.passes.derivative.expand_derivatives.reached import reached_functions
from mlirad.passes.derivative.expand_derivatives.target import free_name


def call_themselves(candidates: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Return those functions that call themselves, directly or by others."""
    return [
        function
        for function in candidates
        if any(symbol_of(function) in calls_of(callee) for callee in reached_functions(function))
    ]


def calls_of(function: ir.Operation) -> set[str]:
    """Return the names of the functions that a function calls."""
    return {_callee(op) for op in operations(function) if op.name == Func.CALL}


def give_private_copy(function: ir.Operation) -> None:
    """Add a private copy of a function, which is called in its place."""
    module, name = module_of(function), symbol_of(function)
    copy_name = free_name(f"{name}.called", symbols_in(module).keys())
    with ir.InsertionPoint.after(function):
        copy = function.clone()
    copy.attributes["sym_name"] = ir.StringAttr.get(copy_name)
    copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
    for caller in functions(module):
        for op in operations(caller):
            if op.name == Func.CALL and _callee(op) == name:
                op.attributes["callee"] = ir.FlatSymbolRefAttr.get(copy_name)


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value
