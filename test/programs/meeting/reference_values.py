"""Vectors, matrices and structs of the reference: small objects that are copied when they are
assigned."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import numpy as np

from programs.meeting.dual import Number, sqrt

Array = np.ndarray[Any, Any]


class Tensor:
    """A vector or matrix; of a field, a view of an element, which it activates when written."""

    __slots__ = ("data", "touch")

    def __init__(self, data: Array, touch: Callable[[], None] | None = None) -> None:
        self.data, self.touch = data, touch

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self.data[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[index] = bare(value)
        if self.touch:
            self.touch()

    def __iter__(self) -> Iterator[Any]:
        return map(wrapped, self.data)

    def __add__(self, other: Any) -> Tensor:
        return Tensor(self.data + bare(other))

    def __sub__(self, other: Any) -> Tensor:
        return Tensor(self.data - bare(other))

    def __mul__(self, other: Any) -> Tensor:
        return Tensor(self.data * bare(other))

    def __truediv__(self, other: Any) -> Tensor:
        return Tensor(self.data / bare(other))

    def __neg__(self) -> Tensor:
        return Tensor(-self.data)

    def __matmul__(self, other: Any) -> Any:
        return wrapped(self.data @ bare(other))

    __radd__, __rmul__ = __add__, __mul__

    def dot(self, other: Tensor) -> Number:
        return sum(self.data * other.data)

    def norm_sqr(self) -> Number:
        return (self.data * self.data).sum()

    def norm(self) -> Number:
        return sqrt(self.norm_sqr())

    def sum(self) -> Number:
        return self.data.sum()

    def transpose(self) -> Tensor:
        return Tensor(self.data.T)

    def outer_product(self, other: Tensor) -> Tensor:
        return Tensor(np.multiply.outer(self.data, other.data))

    def trace(self) -> Number:
        return self.data[0, 0] + self.data[1, 1]

    def determinant(self) -> Number:
        return self.data[0, 0] * self.data[1, 1] - self.data[0, 1] * self.data[1, 0]


def bare(value: Any) -> Any:
    """What NumPy computes with."""
    return value.data if isinstance(value, Tensor) else value


def wrapped(value: Any) -> Any:
    """An array as a tensor."""
    return Tensor(value) if isinstance(value, np.ndarray) else value


def tensor(values: Any) -> Tensor:
    """A new vector or matrix."""
    return Tensor(np.array([bare(value) for value in values], object))


class Struct:
    """A struct as a value; a class of the program is mixed in."""

    _names: tuple[str, ...] = ()

    def __init__(self, *values: Any, **members: Any) -> None:
        self.__dict__.update(zip(self._names, values), **members)


class Element:
    """An element of a field of structs, with the methods of their class."""

    def __init__(self, kind: type, members: dict[str, Any], index: Any) -> None:
        self.__dict__.update(_kind=kind, _members=members, _index=index)

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return self._members[name][self._index]
        return MethodType(getattr(self._kind, name), self)

    def __setattr__(self, name: str, value: Any) -> None:
        self._members[name][self._index] = value


def copied(value: Any) -> Any:
    """What a variable holds that a value is assigned to."""
    if isinstance(value, Tensor):
        return Tensor(value.data.copy())
    if isinstance(value, Element):
        members = {name: copied(field[value._index]) for name, field in value._members.items()}
        return value._kind(**members)
    if isinstance(value, Struct):
        other = copy.copy(value)
        other.__dict__ = {name: copied(member) for name, member in value.__dict__.items()}
        return other
    if isinstance(value, tuple):
        return tuple(copied(each) for each in value)
    return value
