"""The operators of vectors and matrices: elementwise, scalars repeated, generic over numbers and
kernel scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.operators import Operators
from mlirad.frontend.python.values.scalar import Scalar


class Elementwise(Operators):
    """Elementwise operators over `entries`."""

    __array_priority__ = 2000
    __array_ufunc__ = None

    entries: list[Any]
    ndim: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, or rows and columns."""
        raise NotImplementedError

    def like(self, entries: Sequence[Scalar]) -> Any:
        """A value of this shape with other entries."""
        raise NotImplementedError

    def made_from(self, rows: Rows) -> Any:
        """A matrix from nested lists or an array."""
        raise NotImplementedError

    def map_with(self, function: Callable[..., Scalar], *arguments: Operand) -> Any:
        """Apply a scalar function to matching entries; scalars are repeated."""
        shape = self.shape
        lists = []
        for argument in arguments:
            if isinstance(argument, list | tuple):
                argument = self.made_from(argument)
            if not isinstance(argument, Elementwise):
                lists.append([argument] * len(self.entries))
            elif argument.shape == shape or (
                len(argument.entries) == len(self.entries) and argument.ndim != self.ndim
            ):
                lists.append(argument.entries)
            else:
                raise TaichiCompilationError(
                    f"shapes {shape} and {argument.shape} do not match"
                    f"{_product_instead(shape, argument.shape)}"
                )
        return self.like([function(*group) for group in zip(*lists)])

    def operate(self, function: Callable[[Any, Any], Any], left: object, right: object) -> Any:
        if not (_is_operand(left) and _is_operand(right)):
            return NotImplemented
        if function in (operator.eq, operator.ne) and self._repeats(right):
            return self.made_from(function(np.asarray(left), np.asarray(right)).tolist())
        return self.map_with(function, self._operand(left), self._operand(right))

    def _repeats(self, other: Any) -> bool:
        """Return whether a comparison repeats a list as NumPy does, in Python scope only."""
        is_list = isinstance(other, list | tuple)
        return is_list and not in_kernel() and np.shape(other) != self.shape

    def _operand(self, value: Any) -> Operand:
        return self.made_from(value) if isinstance(value, np.ndarray) else value

    def __neg__(self) -> Any:
        return self.like([-e for e in self.entries])

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self.like([~e for e in self.entries])

    def __abs__(self) -> Any:
        return self.like([abs(e) for e in self.entries])

    def any(self) -> Any:
        """Return whether some entry is not zero."""
        return reduce(operator.or_, [e != 0 for e in self.entries])

    def all(self) -> Any:
        """Return whether no entry is zero."""
        return reduce(operator.and_, [e != 0 for e in self.entries])


def _product_instead(left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Return a hint for operands that have a matrix product."""
    fits = left[-1] == right[0] or right[-1] == left[0]
    if max(len(left), len(right)) < 2 or not fits:
        return ""
    return ": operators work entry by entry, and a @ b is the matrix product"


def _is_operand(value: object) -> bool:
    return ex.is_scalar(value) or isinstance(value, Elementwise | list | tuple | np.ndarray)


Rows = list | tuple | np.ndarray[Any, Any]
Operand = Scalar | Elementwise | Rows
