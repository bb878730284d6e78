"""Functions in place of their calls: of those that hold ops which upstream does not inline, and of
those that rules and lowerings name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS, is_of_text, is_registered
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private, refuse, symbol_of
from mlirad.ir.walk import block_operations, entry_of, functions, operations, replace


def inline_calls(module: ir.Operation) -> None:
    """Put functions that hold foreign ops, or call those that do, in place of their calls; calls of
    recursive functions stay."""
    by_name = {symbol_of(function): function for function in functions(module)}
    callees = {name: {*_callees(function)} for name, function in by_name.items()}
    holders = {name for name, function in by_name.items() if _holds_foreign_ops(function)}
    is_complete = False
    while not is_complete:
        callers = {name for name in by_name if callees[name] & holders} - holders
        holders |= callers
        is_complete = not callers
    done: set[str] = set()
    while ready := [n for n in by_name if n not in done and callees[n] & holders <= done]:
        for name in ready:
            _inline_into(by_name[name], {n: by_name[n] for n in callees[name] & holders})
            done.add(name)


def _inline_into(caller: ir.Operation, holders: dict[str, ir.Operation]) -> None:
    for op in [op for op in operations(caller) if op.name == Func.CALL]:
        if _callee(op) in holders:
            function = holders[_callee(op)]
            if len(function.regions[0].blocks) > 1:
                refuse(op, f"a call of '@{_callee(op)}', which holds branches of 'cf'")
            copy = _copy(function)
            *body, last = block_operations(_bound_block(copy, list(op.operands)))
            for child in body:
                child.move_before(op)
            replace(op, list(last.operands))
            copy.erase()


def _holds_foreign_ops(function: ir.Operation) -> bool:
    return any(
        is_registered(op.name) or is_of_text(op.name) or CustomOp.holds(op)
        for op in operations(function)
    )


def _callees(function: ir.Operation) -> Iterator[str]:
    return (_callee(op) for op in operations(function) if op.name == Func.CALL)


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _copy(function: ir.Operation) -> ir.Operation:
    """Return a copy of a function, in front of it, for a moment."""
    with ir.InsertionPoint(function):
        return function.clone().operation


def _bound_block(function: ir.Operation, values: Sequence[ir.Value]) -> ir.Block:
    """Return the block of a function after values have taken the place of its arguments."""
    block = entry_of(function)
    for argument, value in zip(block.arguments, values):
        argument.replace_all_uses_with(value)
    return block


class CodeFunctions:
    """The functions of a module that rules and lowerings name."""

    def __init__(self, module: ir.Operation) -> None:
        names = {name.removeprefix("@") for name in _code_names()}
        self._by_name = {
            symbol_of(function): function
            for function in functions(module)
            if symbol_of(function) in names
        }

    def holds(self, function: ir.Operation) -> bool:
        """Return whether a function is one of them."""
        return symbol_of(function) in self._by_name

    def find(self, name: str) -> ir.Operation | None:
        """Return the function of a name, if the module has it."""
        return self._by_name.get(name.removeprefix("@"))

    def insert_body(self, function: ir.Operation, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Do what a function does with some values at the insertion point, and return what it
        returns."""
        copy = _copy(function)
        *body, last = block_operations(_bound_block(copy, values))
        results = list(last.operands)
        for child in body:
            child.detach_from_parent()
            ir.InsertionPoint.current.insert(child)
        copy.erase()
        return results

    def erase(self) -> None:
        """Erase those that only the module could call: all their calls are inlined."""
        for function in self._by_name.values():
            if is_private(function):
                function.erase()


def _code_names() -> Iterator[str]:
    for rule in FOREIGN_RULES.values():
        for code in (rule.partials, rule.linear, rule.transposed):
            if isinstance(code, str):
                yield code
    for lowering in LOWERINGS.values():
        if isinstance(lowering.code, str):
            yield lowering.code
