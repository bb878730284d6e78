"""The functions and constants of its module that a function reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mlirad.bindings import ir
from mlirad.dialect.grad import function_named
from mlirad.dialect.snode import module_of
from mlirad.ir.ops import Func
from mlirad.ir.requirements import refuse, symbol_of, symbols_in
from mlirad.ir.walk import operations

Stop = Callable[[ir.Operation], bool]


def _nowhere(_: ir.Operation) -> bool:
    return False


def reached_functions(function: ir.Operation, *, stops_at: Stop = _nowhere) -> list[ir.Operation]:
    """Return a function and all that it calls, directly or not, but not by what it stops at."""
    return [op for op in reached_symbols(function, stops_at=stops_at) if op.name == Func.FUNC]


def reached_symbols(function: ir.Operation, *, stops_at: Stop = _nowhere) -> list[ir.Operation]:
    """Return a function and all that it refers to by name, directly or not; of what is called,
    without that at which it stops."""
    by_name = symbols_in(module_of(function))
    reached = {symbol_of(function): function}
    pending = [function]
    while pending:
        for name, _ in _references(pending.pop()):
            if name in by_name and name not in reached and not stops_at(by_name[name]):
                reached[name] = by_name[name]
                pending.append(by_name[name])
    return list(reached.values())


def _references(root: ir.Operation) -> Iterator[tuple[str, ir.Operation]]:
    """Yield the symbols that are named in an operation, each with where."""
    for op in operations(root):
        for name in op.attributes:
            attribute = op.attributes[name]
            if isinstance(attribute, ir.FlatSymbolRefAttr):
                yield attribute.value, op


def refuse_recursion(function: ir.Operation, stops_at: Stop) -> None:
    """Refuse a function that is inlined, and calls itself, or calls one that does."""
    for caller in reached_functions(function, stops_at=stops_at):
        for name, op in _references(caller):
            callee = function_named(op, name)
            if callee is None or stops_at(callee):
                continue
            if caller in reached_functions(callee, stops_at=stops_at):
                refuse(
                    op,
                    f"'{symbol_of(caller)}' calls itself, which cannot be differentiated: write it "
                    "as a loop",
                )


def module_of_function(function: ir.Operation, stops_at: Stop) -> ir.Module:
    """Return a module of a copy of a function, the only public one, and of all that it refers to
    but what it stops at. The copy has a name of its own: what calls itself calls the function."""
    with function.location:
        module = ir.Module.create()
    for op in reached_symbols(function, stops_at=stops_at):
        copy = op.clone(ip=False)
        if op == function:
            copy.attributes["sym_name"] = ir.StringAttr.get(f"{symbol_of(function)}.kernel")
            if "sym_visibility" in copy.attributes:
                del copy.attributes["sym_visibility"]
        else:
            copy.attributes["sym_visibility"] = ir.StringAttr.get("private")
        module.body.append(copy)
    return module
