"""Slabs of an array: the elements `x[t + c, ...]` with one t that a function is given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir.signature import SLAB
from mlirad.ir.walk import enclosing

FARTHEST = 1 << 30  # of two slabs of an array: 32-bit numbers that wrapped are farther


class Slab(NamedTuple):
    """The slab a distance from that of a number."""

    number: ir.Value
    distance: int

    def is_apart(self, other: Slab) -> bool:
        """Whether another is known to be another one."""
        return self.number == other.number and self.distance != other.distance


def slab_sizes(function: ir.Operation) -> dict[int, int]:
    """The size of a slab in elements, of each pointer that a function is given, where it is
    known."""
    if "arg_attrs" not in function.attributes:
        return {}
    given = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
    return {
        position: ir.IntegerAttr(attributes[SLAB]).value
        for position, attributes in enumerate(given)
        if SLAB in attributes
    }


def slab_of(offset: ir.Value, size: int, entry: ir.Block) -> Slab | None:
    """The slab that an offset in elements is in, where it is told by what the function is given."""
    found = [number for term in _terms(offset) if (number := _times(term, size)) is not None]
    if len(found) != 1:
        return None
    number, distance = found[0], 0
    while (op := _made(number)) is not None:
        constant = _constant(op.operands[1]) if op.name in ("llvm.add", "llvm.sub") else None
        if constant is not None:
            distance += constant if op.name == "llvm.add" else -constant
        elif op.name != "llvm.sext":
            break
        number = op.operands[0]
    owner = number.owner if op is None else op.block
    return Slab(number, distance) if owner == entry and abs(distance) < FARTHEST else None


def called_again(everything: Iterable[ir.Operation]) -> set[str]:
    """The functions that a loop calls, in which what they are given may change, and those that they
    call."""
    calls = [op for op in everything if op.name == "llvm.call" and "callee" in op.attributes]
    found = {_callee(op) for op in calls if _is_in_a_cycle(op)}
    while more := {_callee(op) for op in calls if _caller(op) in found} - found:
        found |= more
    return found


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _caller(op: ir.Operation) -> str:
    while op.name != "llvm.func":
        op = enclosing(op)
    return ir.StringAttr(op.attributes["sym_name"]).value


def _is_in_a_cycle(op: ir.Operation) -> bool:
    """Whether the block of an op, or one around it, may run again, in one call of its function."""
    while op.name != "llvm.func":
        seen, pending = set[ir.Block](), list(op.block.successors)
        while pending:
            block = pending.pop()
            if block == op.block:
                return True
            if block not in seen:
                seen.add(block)
                pending += block.successors
        op = enclosing(op)
    return False


def _terms(value: ir.Value) -> list[ir.Value]:
    op = _made(value)
    if op is None or op.name != "llvm.add":
        return [value]
    return [term for operand in op.operands for term in _terms(operand)]


def _times(value: ir.Value, size: int) -> ir.Value | None:
    """What a product multiplies a size with."""
    op = _made(value)
    if op is None or op.name != "llvm.mul":
        return None
    left, right = op.operands
    return left if _constant(right) == size else right if _constant(left) == size else None


def _constant(value: ir.Value) -> int | None:
    op = _made(value)
    if op is None or op.name != "llvm.mlir.constant":
        return None
    attribute = op.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


def _made(value: ir.Value) -> ir.Operation | None:
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation
