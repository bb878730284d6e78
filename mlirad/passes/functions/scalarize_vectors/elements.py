"""The common interface of vectors for all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.roles import VECTOR_RESULT
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import refuse
from mlirad.ir.split_values.scalars import Kind, Scalars, SplitValues
from mlirad.ir.walk import defining_op

MOST_ELEMENTS = 1024  # of a vector

Position: TypeAlias = tuple[int, ...]


# The elements of the result of an op that may be under a mask.
MaskedRule: TypeAlias = Callable[[ir.Operation, SplitValues, Scalars | None], Scalars]


def is_vector(type_: ir.Type) -> bool:
    """Return whether a type is a vector type."""
    return isinstance(type_, ir.VectorType)


def _memory_of(type_: ir.Type) -> ir.Type:
    vector = ir.VectorType(type_)
    return ir.MemRefType.get(vector.shape, vector.element_type)


def shape_of(type_: ir.Type) -> list[int]:
    """Return the shape of a vector; that of a scalar is empty."""
    return list(type_.shape) if isinstance(type_, ir.VectorType) else []


def count(type_: ir.Type) -> int:
    """Return the number of elements of a vector; that of a scalar is 1."""
    return prod(shape_of(type_))


VECTORS = Kind("vectors", ir.VectorType, count, _memory_of, "field.vector_argument", VECTOR_RESULT)


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
