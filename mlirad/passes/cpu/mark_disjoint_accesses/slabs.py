"""Slabs of an array: the elements `x[t + c, ...]` with one t that a function is given."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mlirad.bindings import ir
from mlirad.ir.ops import Llvm
from mlirad.ir.requirements import symbol_of
from mlirad.ir.signature import SLAB
from mlirad.ir.walk import defining_op, enclosing

FARTHEST = 1 << 30  # of two slabs of an array: 32-bit numbers that wrapped are farther


class Slab(msgspec.Struct, frozen=True):
    """The slab a distance from that of a number."""

    number: ir.Value
    distance: int

    def is_apart(self, other: Slab) -> bool:
        """Return whether another is known to be another one."""
        return self.number == other.number and self.distance != other.distance


def slab_sizes(function: ir.Operation) -> dict[int, int]:
    """The size of a slab in elements, of each pointer that a function is given, where it is
    known."""
    if "arg_attrs" not in function.attributes:
        return {}
    argument_attributes = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
    return {
        position: ir.IntegerAttr(attributes[SLAB]).value
        for position, attributes in enumerate(argument_attributes)
        if SLAB in attributes
    }


class Slabs:
    """The slabs that offsets in elements are in, of arrays with slabs of one size."""

    def __init__(self, size: int, entry: ir.Block) -> None:
        self._size, self._entry = size, entry
        self._found: dict[ir.Value, tuple[Slab | None, ...]] = {}

    def slab_of(self, offset: ir.Value) -> Slab | None:
        """The slab, where it is told by what the function is given."""
        terms = self._terms(offset)
        return terms[0] if len(terms) == 1 else None

    def _terms(self, value: ir.Value) -> tuple[Slab | None, ...]:
        """Return what the products with the size say that a sum is made of; None if they do not."""
        terms = self._found.get(value)
        if terms is None:
            op = defining_op(value)
            if op is None or op.name not in (Llvm.ADD, Llvm.MUL):
                terms = ()
            elif op.name == Llvm.ADD:
                left, right = op.operands
                terms = self._terms(left) + self._terms(right)
            else:
                number = _times(op, self._size)
                terms = () if number is None else (self._slab(number),)
            self._found[value] = terms
        return terms

    def _slab(self, number: ir.Value) -> Slab | None:
        distance = 0
        while (op := defining_op(number)) is not None:
            constant = _constant(op.operands[1]) if op.name in (Llvm.ADD, Llvm.SUB) else None
            if constant is not None:
                distance += constant if op.name == Llvm.ADD else -constant
            elif op.name != Llvm.SEXT:
                break
            number = op.operands[0]
        owner = number.owner if op is None else op.block
        is_given = owner == self._entry and abs(distance) < FARTHEST
        return Slab(number, distance) if is_given else None


def called_again(everything: Iterable[ir.Operation]) -> set[str]:
    """The functions that a loop calls, in which what they are given may change, and those that they
    call."""
    calls = [op for op in everything if op.name == Llvm.CALL and "callee" in op.attributes]
    recursive = {_callee(op) for op in calls if _is_in_a_cycle(op)}
    while more := {_callee(op) for op in calls if _caller(op) in recursive} - recursive:
        recursive |= more
    return recursive


def _callee(call: ir.Operation) -> str:
    return ir.FlatSymbolRefAttr(call.attributes["callee"]).value


def _caller(op: ir.Operation) -> str:
    """The function that an op stands in; none of LLVM's has no name."""
    while op.parent is not None and op.name != Llvm.FUNC:
        op = enclosing(op)
    return symbol_of(op) if op.parent is not None else ""


def _is_in_a_cycle(op: ir.Operation) -> bool:
    """Return whether the block of an op, or one around it, may run again, in one call of its
    function."""
    while op.name != Llvm.FUNC:
        if op.parent is None:  # code that is not LLVM's yet
            return True
        visited, pending = set[ir.Block](), list(op.block.successors)
        while pending:
            block = pending.pop()
            if block == op.block:
                return True
            if block not in visited:
                visited.add(block)
                pending += block.successors
        op = enclosing(op)
    return False


def _times(op: ir.Operation, size: int) -> ir.Value | None:
    """Return what a product multiplies a size with."""
    left, right = op.operands
    return left if _constant(right) == size else right if _constant(left) == size else None


def _constant(value: ir.Value) -> int | None:
    op = defining_op(value)
    if op is None or op.name != Llvm.MLIR_CONSTANT:
        return None
    attribute = op.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None
