"""Vectors as lists of their elements, and what all rules ask of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import defining_op

MOST_ELEMENTS = 1024  # of a vector

Scalars: TypeAlias = list[ir.Value]
Position: TypeAlias = tuple[int, ...]


class Vectors:
    """The elements of each vector of a function, in row-major order."""

    def __init__(self) -> None:
        self.elements: dict[ir.Value, Scalars] = {}
        self.replaced: list[ir.Operation] = []
        self.blocks: list[tuple[ir.Block, int]] = []  # with so many replaced arguments in front

    def of(self, value: ir.Value) -> Scalars:
        """Return the elements of a vector; a scalar is its only element."""
        return self.elements[value] if is_vector(value.type) else [value]

    def flatten(self, values: Sequence[ir.Value]) -> Scalars:
        """Return the elements of all values, one value after another."""
        return [element for value in values for element in self.of(value)]

    def bind(self, value: ir.Value, scalars: Scalars) -> None:
        """Have scalars stand for a value."""
        if is_vector(value.type):
            self.elements[value] = scalars
        else:
            value.replace_all_uses_with(scalars[0])

    def bind_all(self, values: Sequence[ir.Value], scalars: Scalars) -> None:
        """Have scalars stand for several values, one value after another."""
        remaining = iter(scalars)
        for value in values:
            self.bind(value, [next(remaining) for _ in range(count(value.type))])

    def erase_replaced(self) -> None:
        """Erase the vectors, last use first."""
        for op in reversed(self.replaced):
            op.erase()
        for block, arguments in self.blocks:
            for _ in range(arguments):
                block.erase_argument(0)


# The elements of all results of an op, one result after another. Ops made go in front of it.
Rule: TypeAlias = Callable[[ir.Operation, Vectors], Scalars]
# The same under a mask, if there is one.
MaskedRule: TypeAlias = Callable[[ir.Operation, Vectors, Scalars | None], Scalars]


def is_vector(type_: ir.Type) -> bool:
    """Whether a type is a vector type."""
    return isinstance(type_, ir.VectorType)


def shape_of(type_: ir.Type) -> list[int]:
    """Return the shape of a vector; that of a scalar is empty."""
    return list(type_.shape) if isinstance(type_, ir.VectorType) else []


def count(type_: ir.Type) -> int:
    """Return the number of elements of a vector; that of a scalar is 1."""
    return prod(shape_of(type_))


def flat_types(types: Sequence[ir.Type]) -> list[ir.Type]:
    """Return the types of the elements of all values, one value after another."""
    return [b.element_of(type_) for type_ in types for _ in range(count(type_))]


def positions(shape: Sequence[int]) -> Iterator[Position]:
    """Yield the positions in a shape in row-major order."""
    return product(*map(range, shape))


def number_of(position: Sequence[int], shape: Sequence[int]) -> int:
    """Return the row-major number of a position."""
    number = 0
    for coordinate, extent in zip(position, shape, strict=True):
        number = number * extent + coordinate
    return number


def integers(op: ir.Operation, name: str) -> list[int]:
    """Return the numbers of an attribute, a dense array or a list of integers."""
    attribute = op.attributes[name]
    if isinstance(attribute, ir.ArrayAttr):
        return [ir.IntegerAttr(number).value for number in attribute]
    return list(ir.DenseI64ArrayAttr(attribute))


def zero(type_: ir.Type) -> ir.Value:
    """Return 0, which stands for poison as well as any other value."""
    return b.number(0, type_)


def constant_bit(value: ir.Value) -> bool | None:
    """Return the bit a condition is known to be, or None."""
    op = defining_op(value)
    if op is None or op.name != Arith.CONSTANT:
        return None
    return bool(ir.IntegerAttr(op.attributes["value"]).value)


def choose(condition: ir.Value, a: ir.Value, c: ir.Value) -> ir.Value:
    """Return `a` if a condition holds, else `c`; a known condition costs nothing."""
    bit = constant_bit(condition)
    if bit is None:
        return b.select(condition, a, c)
    return a if bit else c


def require_memref(op: ir.Operation, memory: ir.Value) -> None:
    """Refuse an access of a tensor."""
    if not isinstance(memory.type, ir.MemRefType):
        refuse(op, f"'{op.name}' of {memory.type}, expected a memref")
