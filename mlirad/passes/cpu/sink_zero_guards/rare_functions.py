"""Functions of what a few ops compute: for where this is needed hardly ever."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rare import CALL, RARE
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import symbol_of
from mlirad.ir.walk import at_end, clone, defining_op, entry_of, operations


class RareFunction(msgspec.Struct, frozen=True):
    """A function by its name, and what it is called with."""

    name: str
    arguments: Sequence[ir.Value]
    results: Sequence[ir.Type]

    def call(self) -> ir.Operation:
        """A call of it."""
        callee = ir.FlatSymbolRefAttr.get(self.name)
        return ir.Operation.create(CALL, self.results, self.arguments, {"callee": callee})


class RareFunctions:
    """The functions of this kind that stand behind a function; those that are written alike are
    one."""

    def __init__(self, function: ir.Operation) -> None:
        self.function, self.names = function, dict[str, str]()
        self.size = sum(1 for _ in operations(function))  # as it was

    def function_of(self, ops: Sequence[ir.Operation], values: Sequence[ir.Value]) -> RareFunction:
        """A function that gives values as some ops compute them."""
        inside = {result for op in ops for result in op.results}
        used = dict.fromkeys(v for op in ops for v in op.operands if v not in inside)
        makers = [op for op in map(defining_op, used) if op is not None]
        constants = [op for op in makers if op.name == Arith.CONSTANT]
        constant_results = {result for op in constants for result in op.results}
        arguments = [v for v in used if v not in constant_results]
        types = [v.type for v in values]
        name = f"{symbol_of(self.function)}.guarded{len(self.names)}"
        with ir.InsertionPoint(self.function), self.function.location:
            inputs = [v.type for v in arguments]
            function = b.function(name, inputs, types, {RARE: ir.UnitAttr.get()})
        entry = entry_of(function)
        mapping: dict[ir.Value, ir.Value] = dict(zip(arguments, entry.arguments))
        with at_end(entry, self.function.location):
            for op in (*constants, *ops):
                clone(op, mapping)
            b.return_([mapping[v] for v in values])
        text = function.get_asm(use_local_scope=True).partition("(")[2]
        first_name = self.names.setdefault(text, name)
        if first_name != name:
            function.erase()
        return RareFunction(first_name, arguments, types)
