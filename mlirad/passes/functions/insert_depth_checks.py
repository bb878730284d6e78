"""Have functions that call themselves fail before the stack of their thread is full.

Expects private functions of one block. Such a function, if calls lead back to it, takes behind its
arguments how many calls of such functions are around it. A call too deep fails the launch, and
gives no numbers (NaN).
"""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private, structured_functions, symbol_of
from mlirad.ir.signature import function_type
from mlirad.ir.walk import at_start, before, block_operations, entry_of, functions, operations
from mlirad.ir.walk import replace as replace_results

MAX_DEPTH = 1024  # as of functions in Python
REQUIRES = (structured_functions,)


def insert_depth_checks(module: ir.Operation) -> None:
    """Pass the depth of calls to recursive functions, and let a call that is too deep fail."""
    by_name = {symbol_of(function): function for function in functions(module)}
    calls = {name: _callees(function) & by_name.keys() for name, function in by_name.items()}
    depths = {
        name: _check(function)
        for name, function in by_name.items()
        if is_private(function) and name in _reached(calls[name], calls)
    }
    if depths:
        for name, function in by_name.items():
            for op in list(operations(function)):
                if op.name == Func.CALL and _callee(op) in depths:
                    _pass_depth(op, depths.get(name))


def _reached(names: set[str], calls: Mapping[str, set[str]]) -> set[str]:
    """Return some functions, and all that they call."""
    reached = set(names)
    while more := {callee for name in reached for callee in calls[name]} - reached:
        reached |= more
    return reached


def _check(function: ir.Operation) -> ir.Value:
    """Let a function take its depth, and do nothing if that is too much; return the depth."""
    type_, entry = function_type(function), entry_of(function)
    depth = entry.add_argument(b.index_type(), function.location)
    inputs = [*type_.inputs, depth.type]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, type_.results)
    )
    if "arg_attrs" in function.attributes:
        del function.attributes["arg_attrs"]
    *body, end = block_operations(entry)
    with at_start(entry, function.location):
        fits = b.compare(b.SLT, depth, b.index(MAX_DEPTH))
        message = f"'{symbol_of(function)}' calls itself more than {MAX_DEPTH} calls deep"
        field.assert_(fits, message)
        branch = b.if_else(fits, type_.results)
        for op in body:
            branch.then.append(op)
        with ir.InsertionPoint(branch.then):
            b.yield_(list(end.operands))
        with ir.InsertionPoint(branch.otherwise):
            b.yield_([_nothing(result) for result in type_.results])
    with before(end):
        b.return_(list(branch.op.results))
    end.erase()
    return depth


def _nothing(type_: ir.Type) -> ir.Value:
    return b.number(float("nan") if b.is_float(type_) else 0, type_)


def _pass_depth(call: ir.Operation, depth: ir.Value | None) -> None:
    """Let a call pass the depth of what it calls; `depth` is that of the caller, if it has one."""
    with before(call):
        one_more = b.index(0) if depth is None else b.add(depth, b.index(1))
        types = [result.type for result in call.results]
        replace_results(call, b.call(_callee(call), [*call.operands, one_more], types).results)


def _callees(function: ir.Operation) -> set[str]:
    return {_callee(op) for op in operations(function) if op.name == Func.CALL}


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value
