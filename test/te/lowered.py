"""What a function of tensors comes to as loops over arrays: iterations, arrays, types."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.ir.walk import block_operations, constant_integer, entry_of, functions
from mlirad.kernel.array_arguments import copy_of
from mlirad.pipeline.runner import run_pipeline
from mlirad.te.programs.tensor_function import TensorFunction
from mlirad.te.programs.tensor_kernel import LOWER, SIMPLIFY

SIGNED = ("==", "!=", "<", "<=", ">", ">=")  # by the number of a predicate of arith.cmpi
BINARY = {
    "arith.addi": "({} + {})",
    "arith.subi": "({} - {})",
    "arith.muli": "({} * {})",
    "arith.floordivsi": "({} // {})",
    "arith.ceildivsi": "(-(-{} // {}))",
    "arith.minsi": "min({}, {})",
    "arith.maxsi": "max({}, {})",
    "arith.andi": "({} & {})",
    "arith.ori": "({} | {})",
    "arith.xori": "({} ^ {})",
}


def simplified(built: TensorFunction) -> ir.Module:
    """The definitions that have an array."""
    with context(), built.module.operation.location:
        module: ir.Module = copy_of(built.module)
        run_pipeline(module.operation, f"builtin.module({SIMPLIFY})")
    return module


def lowered(built: TensorFunction) -> ir.Module:
    """The loops over arrays."""
    module = simplified(built)
    with context(), built.module.operation.location:
        run_pipeline(module.operation, f"builtin.module({LOWER})")
    return module


def iterations(built: TensorFunction) -> int:
    """How often the innermost loops of a function run, whose sizes are known: those of each nest
    added, with the bounds that they have where they stand."""
    module = lowered(built)
    with context(), built.module.operation.location:
        (function,) = functions(module.operation)
        return _Counter().run(entry_of(function))


def bytes_between(built: TensorFunction) -> int:
    """The memory of arrays that are neither inputs nor outputs."""
    module = simplified(built)
    (function,) = functions(module.operation)
    *ops, end = block_operations(entry_of(function))
    given = set(end.operands)
    tensors = [
        op.results[0]
        for op in ops
        if len(op.results)
        and isinstance(op.results[0].type, ir.RankedTensorType)
        and op.results[0] not in given
    ]
    return sum(_bytes(ir.RankedTensorType(value.type)) for value in tensors)


def bytes_given(built: TensorFunction) -> int:
    """The memory of inputs and outputs."""
    module = simplified(built)
    (function,) = functions(module.operation)
    entry = entry_of(function)
    values = [*entry.arguments, *block_operations(entry)[-1].operands]
    types = [v.type for v in values if isinstance(v.type, ir.RankedTensorType)]
    return sum(_bytes(ir.RankedTensorType(type_)) for type_ in types)


def _bytes(type_: ir.RankedTensorType) -> int:
    return prod(type_.shape) * max(int(str(type_.element_type)[1:]) // 8, 1)


class _Counter:
    """Writes the loops of a function, and what their bounds are made of, in Python."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[ir.Value, str] = {}

    def run(self, entry: ir.Block) -> int:
        """Count."""
        self._block(entry, 1)
        text = "\n".join(["def count():", "    total = 0", *self.lines, "    return total"])
        scope: dict[str, Callable[[], int]] = {}
        exec(text, scope)
        return scope["count"]()

    def _name(self, value: ir.Value) -> str:
        self.names[value] = f"v{len(self.names)}"
        return self.names[value]

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _block(self, block: ir.Block, depth: int) -> bool:
        """Whether there are loops in it."""
        found = False
        for op in block_operations(block):
            if op.name in ("scf.for", "scf.parallel"):
                self._loop(op, depth)
                found = True
            elif op.name == "scf.if":
                found = self._branch(op, depth) or found
            else:
                self._value(op, depth)
        return found

    def _loop(self, op: ir.Operation, depth: int) -> None:
        body = op.regions[0].blocks[0]
        axes = len(body.arguments) if op.name == "scf.parallel" else 1
        operands = list(op.operands)
        for axis in range(axes):
            low, high = (self.names[operands[axis + k * axes]] for k in (0, 1))
            index = self._name(body.arguments[axis])
            self._line(depth, f"for {index} in range({low}, {high}):")
            depth += 1
        if not self._block(body, depth):
            self._line(depth, "total += 1")

    def _branch(self, op: ir.Operation, depth: int) -> bool:
        condition = self.names.get(op.operands[0])
        found = False
        for number, region in enumerate(op.regions):
            for block in region.blocks:
                test = "True" if condition is None else f"{'not ' if number else ''}{condition}"
                self._line(depth, f"if {test}:")
                found = self._block(block, depth + 1) or found
                self._line(depth + 1, "pass")
        return found

    def _value(self, op: ir.Operation, depth: int) -> None:
        known = constant_integer(op.results[0]) if len(op.results) == 1 else None
        if known is not None:
            self._line(depth, f"{self._name(op.results[0])} = {known}")
            return
        parts: list[Any] = [self.names.get(value) for value in op.operands]
        if None in parts or not parts:
            return
        if op.name in BINARY:
            text = BINARY[op.name].format(*parts)
        elif op.name == "arith.cmpi":
            sign = SIGNED[ir.IntegerAttr(op.attributes["predicate"]).value]
            text = f"({parts[0]} {sign} {parts[1]})"
        elif op.name == "arith.select":
            text = f"({parts[1]} if {parts[0]} else {parts[2]})"
        elif op.name == "arith.index_cast":
            text = parts[0]
        else:
            return
        self._line(depth, f"{self._name(op.results[0])} = {text}")
