"""Keys of values that are part of compiled code: their types and bits, because `==` equates -0.0
and 0.0, True, 1 and 1.0, and no NaN with another one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from struct import Struct as Packing
from typing import Any

import numpy as np

from mlirad.frontend.python.values.leaves import form_of, scalars_of
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.struct import Struct, methods_of

_bits = Packing("=d").pack


class _Object:
    """An object that is kept, and is equal to itself only."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Object) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)


def same_object(value: object) -> Hashable:
    """The key of an object that is told apart from all others, and kept."""
    return _Object(value)


def constant_key(value: object) -> Hashable | None:
    """The key of a number, a text, a vector, a struct, an array of NumPy's, or a collection of
    values: equal for those that no code tells apart. None for other objects, fields say."""
    kind: Any = type(value)
    make = _key_of_a(kind)
    return None if make is None else make(value)


@cache
def _key_of_a(kind: type[Any]) -> Callable[[Any], Hashable] | None:
    """Return the function that computes the keys of the values of a type."""
    if issubclass(kind, float) and not issubclass(kind, np.generic):
        return lambda value: (kind, _bits(value))
    if issubclass(kind, np.generic | np.ndarray):
        return _array_key
    if issubclass(kind, int | str | bytes):
        return lambda value: (kind, value)
    if issubclass(kind, Matrix):
        return lambda value: (value.shape, tuple(map(constant_key, value.entries)))
    if issubclass(kind, Struct):
        return _struct_key
    if issubclass(kind, list | tuple):
        return lambda value: (kind, tuple(map(_part_key, value)))
    if issubclass(kind, dict):
        return lambda value: (dict, tuple([tuple(map(_part_key, item)) for item in value.items()]))
    return None


def _array_key(value: Any) -> Hashable:
    if value.dtype.hasobject:
        return _Object(value)
    return type(value), value.dtype, value.shape, value.tobytes()


def _struct_key(value: Struct) -> Hashable:
    methods = tuple(map(id, methods_of(value).values()))
    scalars = scalars_of(value, "an argument")  # which may change until the next launch
    return form_of(value), methods, tuple(map(constant_key, scalars))


def _part_key(value: object) -> Hashable:
    key = constant_key(value)
    return _Object(value) if key is None else key
