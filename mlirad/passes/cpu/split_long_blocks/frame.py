"""Memory for values that pieces of a block hand to later ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.memory.descriptor import element_pointer, pointer_type
from mlirad.ir.ops import Llvm, Vector

_LARGEST_ALIGNMENT = 64


@lru_cache(maxsize=64)
def stored_type(type_: ir.Type) -> ir.Type | None:
    """Return what a value of a type is in memory, in LLVM's terms; None if it cannot be there."""
    if isinstance(type_, ir.VectorType):
        element = None if type_.scalable else stored_type(type_.element_type)
        return None if element is None else ir.VectorType.get([prod(type_.shape)], element)
    if isinstance(type_, ir.IndexType):
        return b.integer_type(64)
    if isinstance(type_, ir.IntegerType):
        return b.integer_type(8) if type_.width == 1 else type_
    return type_ if b.is_float(type_) or type_ == pointer_type() else None


@lru_cache(maxsize=64)
def _bytes(type_: ir.Type) -> int:
    """The size of a type in memory, a power of 2."""
    if isinstance(type_, ir.VectorType):
        size = type_.shape[0] * _bytes(type_.element_type)
        return 1 << (size - 1).bit_length()
    if isinstance(type_, ir.IntegerType | ir.FloatType):
        return type_.width // 8
    return 8


class Frame:
    """Places, each for one value at a time."""

    def __init__(self) -> None:
        self.size = 0
        self._places: dict[ir.Value, int] = {}
        self._free: dict[int, list[int]] = {}

    def take(self, value: ir.Value) -> None:
        """Find a place for a value."""
        size = _size_of(value)
        free = self._free.get(size)
        if free:
            self._places[value] = free.pop()
            return
        self.size += -self.size % min(size, _LARGEST_ALIGNMENT)
        self._places[value] = self.size
        self.size += size

    def give_back(self, values: Iterable[ir.Value]) -> None:
        """Let others have the places of values."""
        for value in values:
            self._free.setdefault(_size_of(value), []).append(self._places[value])

    def has(self, value: ir.Value) -> bool:
        """Return whether a value has a place."""
        return value in self._places

    def memory(self) -> ir.Value:
        """Allocate the frame on the stack."""
        i64 = b.integer_type(64)
        return b.make(
            Llvm.ALLOCA,
            pointer_type(),
            [b.number(self.size, i64)],
            elem_type=ir.TypeAttr.get(b.integer_type(8)),
            alignment=ir.IntegerAttr.get(i64, _LARGEST_ALIGNMENT),
        )

    def write(self, value: ir.Value, memory: ir.Value) -> None:
        """Put a value into its place."""
        b.effect(
            Llvm.STORE, [_stored_value(value), self._place(value, memory)], **_alignment(value)
        )

    def read(self, value: ir.Value, memory: ir.Value) -> ir.Value:
        """A value from its place."""
        stored = stored_type(value.type)
        assert stored is not None
        loaded = b.make(Llvm.LOAD, stored, [self._place(value, memory)], **_alignment(value))
        return _read(loaded, value.type)

    def _place(self, value: ir.Value, memory: ir.Value) -> ir.Value:
        return element_pointer(memory, b.integer_type(8), self._places[value])


def _size_of(value: ir.Value) -> int:
    stored = stored_type(value.type)
    assert stored is not None
    return _bytes(stored)


def _alignment(value: ir.Value) -> dict[str, ir.Attribute]:
    alignment = min(_size_of(value), _LARGEST_ALIGNMENT)
    return {"alignment": ir.IntegerAttr.get(b.integer_type(64), alignment)}


def _stored_value(value: ir.Value) -> ir.Value:
    """A value as it is in memory."""
    stored = stored_type(value.type)
    assert stored is not None
    if isinstance(value.type, ir.VectorType) and value.type.rank != 1:
        row = ir.VectorType.get([prod(value.type.shape)], value.type.element_type)
        value = b.make(Vector.SHAPE_CAST, row, [value])
    if value.type == stored:
        return value
    is_index = isinstance(b.element_of(value.type), ir.IndexType)
    return (b.index_cast if is_index else b.extui)(value, stored)


def _read(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Return what has been in memory as a value of a type."""
    row = type_
    if isinstance(type_, ir.VectorType):
        row = ir.VectorType.get([prod(type_.shape)], type_.element_type)
    if value.type != row:
        is_index = isinstance(b.element_of(type_), ir.IndexType)
        value = (b.index_cast if is_index else b.trunci)(value, row)
    return value if row == type_ else b.make(Vector.SHAPE_CAST, type_, [value])
