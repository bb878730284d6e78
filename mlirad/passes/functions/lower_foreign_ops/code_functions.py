"""The functions of a module that rules and lowerings name."""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.bindings import ir
from mlirad.ir.foreign_ops.registry import FOREIGN_RULES, LOWERINGS
from mlirad.ir.ops import Func
from mlirad.ir.requirements import is_private, symbol_of
from mlirad.ir.walk import functions, operations


class CodeFunctions:
    """The functions of a module that rules and lowerings name."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module
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

    def erase(self) -> None:
        """Erase those that nobody else could call."""
        called = {
            ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            for op in operations(self._module)
            if op.name == Func.CALL
        }
        for name, function in self._by_name.items():
            if is_private(function) and name not in called:
                function.erase()


def _code_names() -> Iterator[str]:
    for rule in FOREIGN_RULES.values():
        for code in (rule.partials, rule.linear, rule.transposed):
            if isinstance(code, str):
                yield code
    for lowering in LOWERINGS.values():
        if isinstance(lowering.code, str):
            yield lowering.code
