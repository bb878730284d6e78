"""Subscripts of fields in Python scope."""

from __future__ import annotations

from mlirad.errors import TaichiAssertionError, TaichiIndexError
from mlirad.lang.host.host_indices import key_parts, wrong_index_count
from mlirad.lang.layout.tree import Leaf
from mlirad.runtime.memory.field import FieldMemory


def element_index(field: Leaf, key: object, memory: FieldMemory) -> tuple[int, ...]:
    """Return the indices in memory of the element that a subscript means. Raises TaichiIndexError
    for none."""
    indices = key_parts(key)
    shape = memory.layout.index_shape
    if len(indices) != len(shape):
        raise TaichiIndexError(wrong_index_count(field.symbol, shape, field.element_shape, key))
    if field.offset:
        indices = tuple([p - o for p, o in zip(indices, field.offset)])
    for index, extent in zip(indices, shape):
        if not 0 <= index < extent:
            raise _out_of_bounds(field, key, shape)
    return memory.locate(indices)


def _out_of_bounds(field: Leaf, key: object, shape: tuple[int, ...]) -> IndexError | AssertionError:
    shifted = f" and offset {field.offset}" if any(field.offset) else ""
    message = f"index {key} is out of bounds for field '{field.symbol}' of shape {shape}{shifted}"
    kind = TaichiAssertionError if field.program.config.debug else TaichiIndexError
    return kind(message)
