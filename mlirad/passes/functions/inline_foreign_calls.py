"""Put functions that upstream does not inline in place of their calls: those that hold
`grad.custom` or ops of dialects that are not ours, those that call such functions, and those that
are called within a `grad.custom`.

Expects these functions to have one block (`lift-cf-to-scf`). Calls of recursive ones stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.dialect.grad import CustomOp
from mlirad.ir.custom import apply_region
from mlirad.ir.foreign_ops.registry import is_of_text, is_registered
from mlirad.ir.ops import Func
from mlirad.ir.requirements import refuse, symbol_of
from mlirad.ir.walk import ancestors, before, functions, operations, replace


def inline_foreign_calls(module: ir.Operation) -> None:
    """Inline calls of functions that contain `grad.custom`, or ops of dialects that are not
    ours."""
    by_name = {symbol_of(function): function for function in functions(module)}
    callees = {name: {*_callees(function)} for name, function in by_name.items()}
    if any(callees.values()):
        holders = _holders(by_name, callees) - _recursive(callees)
        finished: set[str] = set()
        while ready := [
            name for name in by_name if name not in finished and callees[name] & holders <= finished
        ]:
            for name in ready:
                _inline_into(by_name[name], {n: by_name[n] for n in callees[name] & holders})
            finished.update(ready)


def _holders(by_name: dict[str, ir.Operation], callees: dict[str, set[str]]) -> set[str]:
    """Return the functions that hold foreign ops, or call those that do, or are called in rules."""
    holders = {name for name, function in by_name.items() if _holds_foreign_ops(function)}
    called = {name for function in by_name.values() for name in _called_in_rules(function)}
    while more := {name for caller in called & {*by_name} for name in callees[caller]} - called:
        called |= more
    holders |= called & {*by_name}
    while callers := {name for name in by_name if callees[name] & holders} - holders:
        holders |= callers
    return holders


def _recursive(callees: dict[str, set[str]]) -> set[str]:
    """Return the functions that call themselves, directly or by others."""
    reached = callees
    while (further := {name: _callees_of(names, callees) for name, names in reached.items()}) != (
        reached
    ):
        reached = further
    return {name for name, names in reached.items() if name in names}


def _callees_of(names: set[str], callees: dict[str, set[str]]) -> set[str]:
    """Return some functions, and those that they call."""
    return names.union(*(callees.get(name, set()) for name in names))


def _called_in_rules(function: ir.Operation) -> Iterator[str]:
    """Yield the functions that are called within a `grad.custom`, where upstream inlines none."""
    for op in operations(function):
        if op.name == Func.CALL and any(map(CustomOp.holds, ancestors(op))):
            yield _callee(op)


def _holds_foreign_ops(function: ir.Operation) -> bool:
    return any(
        CustomOp.holds(op) or is_registered(op.name) or is_of_text(op.name)
        for op in operations(function)
    )


def _inline_into(caller: ir.Operation, holders: dict[str, ir.Operation]) -> None:
    for op in [op for op in operations(caller) if op.name == Func.CALL]:
        if _callee(op) in holders:
            function = holders[_callee(op)]
            if len(function.regions[0].blocks) > 1:
                refuse(op, f"a call of '@{_callee(op)}', which holds branches of 'cf'")
            with before(op):
                values = apply_region(function, 0, list(op.operands))
            replace(op, values)


def _callees(function: ir.Operation) -> Iterator[str]:
    return (_callee(op) for op in operations(function) if op.name == Func.CALL)


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value
