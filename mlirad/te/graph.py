"""The module in which tensors are defined: one a process, from which `te.build` takes what it
needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.te import SizeOp, size
from mlirad.dialect.turn import compiling, in_turn
from mlirad.errors import SourceLocation
from mlirad.ir import build as b
from mlirad.ir.walk import constant_integer, owner_operation
from mlirad.te.emission import dtype_of_type, integer_value
from mlirad.te.expressions import Expr, Extent, Size, arithmetic
from mlirad.te.places import location, place
from mlirad.te.tensor import Tensor

NUMBERS = {
    "arith.addi": "add",
    "arith.subi": "sub",
    "arith.muli": "mul",
    "arith.floordivsi": "floordiv",
    "arith.maxsi": "max",
    "arith.minsi": "min",
}


class Graph:
    """Definitions in the order in which they were made."""

    def __init__(self) -> None:
        with context(), ir.Location.unknown():
            self.module = ir.Module.create()
        self.tensors: dict[ir.Value, Tensor] = {}
        self._sizes: dict[Size, ir.Value] = {}
        self._constants: dict[int, ir.Value] = {}

    @contextmanager
    def defining(self, at: SourceLocation) -> Iterator[None]:
        """Add definitions, which a place of the program makes."""
        with compiling, context(), location(at), ir.InsertionPoint(self.module.body):
            yield

    def named(self, tensor: Tensor) -> Tensor:
        """A tensor that is found by its definition from now on."""
        self.tensors[tensor.value] = tensor
        return tensor

    def tensor(self, value: ir.Value) -> Tensor:
        """The tensor of a definition: one that passes have made gets a name here."""
        if value not in self.tensors:
            type_ = ir.RankedTensorType(value.type)
            sizes = iter(owner_operation(value).operands)
            shape = tuple(
                self._extent_of(next(sizes))
                if type_.is_dynamic_dim(axis)
                else type_.get_dim_size(axis)
                for axis in range(type_.rank)
            )
            label = ir.StringAttr(owner_operation(value).attributes["label"]).value
            dtype = dtype_of_type(type_.element_type)
            return self.named(Tensor(value, shape, dtype, label, place()))
        return self.tensors[value]

    def _extent_of(self, value: ir.Value) -> Extent:
        """A size in IR as an expression."""
        known = constant_integer(value)
        if known is not None:
            return known
        op = owner_operation(value)
        if SizeOp.holds(op):
            return next(one for one, own in self._sizes.items() if own == value)
        if op.name == "arith.select":  # of a divisor that may be 0
            return self._extent_of(op.operands[2])
        parts = [self._extent_of(operand) for operand in op.operands]
        return arithmetic(NUMBERS[op.name], *parts)

    def extent(self, extent: Extent) -> ir.Value:
        """An extent, at the insertion point."""
        if isinstance(extent, int):
            return self._constant(extent)
        return integer_value(extent, self._size, self._constant)

    def sizes(self, shape: tuple[Extent, ...]) -> list[ir.Value]:
        """The extents of a shape that a tensor's type does not say."""
        return [self.extent(extent) for extent in shape if isinstance(extent, Expr)]

    def _constant(self, value: int) -> ir.Value:
        if value not in self._constants:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._constants[value] = b.index(value)
        return self._constants[value]

    def _size(self, one: Size) -> ir.Value:
        if one not in self._sizes:
            with ir.InsertionPoint.at_block_begin(self.module.body):
                self._sizes[one] = size(one.name)
        return self._sizes[one]


@in_turn
@cache
def graph() -> Graph:
    """The process' one."""
    return Graph()
