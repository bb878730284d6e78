"""The operators of vectors and matrices: elementwise, scalars repeated, generic over numbers and
kernel scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mlirad.errors import TaichiCompilationError
from mlirad.frontend.python import functions as fn
from mlirad.frontend.python import scalar as ex
from mlirad.frontend.python.builder import in_kernel


class Operators:
    """Elementwise operators over `entries`."""

    __array_priority__ = 2000
    __array_ufunc__ = None
    __hash__ = object.__hash__

    entries: list[Any]
    ndim: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows, or rows and columns."""
        raise NotImplementedError

    def like(self, entries: list[Any]) -> Any:
        """A value of this shape with other entries."""
        raise NotImplementedError

    def made_from(self, rows: Any) -> Any:
        """A matrix from nested lists or an array."""
        raise NotImplementedError

    def map_with(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Apply a scalar function to matching entries; scalars are repeated."""
        shape = self.shape
        lists = []
        for argument in arguments:
            if isinstance(argument, list | tuple):
                argument = self.made_from(argument)
            if not isinstance(argument, Operators):
                lists.append([argument] * len(self.entries))
            elif argument.shape == shape or (
                len(argument.entries) == len(self.entries) and argument.ndim != self.ndim
            ):
                lists.append(argument.entries)
            else:
                raise TaichiCompilationError(f"shapes {shape} and {argument.shape} do not match")
        return self.like([function(*group) for group in zip(*lists)])

    def _with(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool = False) -> Any:
        if not (ex.is_scalar(other) or isinstance(other, Operators | list | tuple | np.ndarray)):
            return NotImplemented
        if isinstance(other, np.ndarray):
            other = self.made_from(other)
        return (
            self.map_with(function, other, self)
            if swapped
            else self.map_with(function, self, other)
        )

    def _compared(self, test: Callable[[Any, Any], Any], other: Any) -> Any:
        """Compare entries; in Python scope, lists of other shapes are repeated as NumPy does."""
        if isinstance(other, list | tuple) and not in_kernel() and np.shape(other) != self.shape:
            result = test(np.asarray(self), np.asarray(other))
            return self.made_from(result.tolist())
        return self._with(test, other)

    def __add__(self, other: Any) -> Any:
        return self._with(lambda a, b: a + b, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(lambda a, b: a + b, other, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(lambda a, b: a - b, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(lambda a, b: a - b, other, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(lambda a, b: a * b, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(lambda a, b: a * b, other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(lambda a, b: a / b, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(lambda a, b: a / b, other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(lambda a, b: a // b, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(lambda a, b: a // b, other, True)

    def __mod__(self, other: Any) -> Any:
        return self._with(lambda a, b: a % b, other)

    def __rmod__(self, other: Any) -> Any:
        return self._with(lambda a, b: a % b, other, True)

    def __pow__(self, other: Any) -> Any:
        return self._with(lambda a, b: a**b, other)

    def __rpow__(self, other: Any) -> Any:
        return self._with(lambda a, b: a**b, other, True)

    def __and__(self, other: Any) -> Any:
        return self._with(lambda a, b: a & b, other)

    def __rand__(self, other: Any) -> Any:
        return self._with(lambda a, b: a & b, other, True)

    def __or__(self, other: Any) -> Any:
        return self._with(lambda a, b: a | b, other)

    def __ror__(self, other: Any) -> Any:
        return self._with(lambda a, b: a | b, other, True)

    def __xor__(self, other: Any) -> Any:
        return self._with(lambda a, b: a ^ b, other)

    def __rxor__(self, other: Any) -> Any:
        return self._with(lambda a, b: a ^ b, other, True)

    def __lshift__(self, other: Any) -> Any:
        return self._with(lambda a, b: a << b, other)

    def __rlshift__(self, other: Any) -> Any:
        return self._with(lambda a, b: a << b, other, True)

    def __rshift__(self, other: Any) -> Any:
        return self._with(lambda a, b: a >> b, other)

    def __rrshift__(self, other: Any) -> Any:
        return self._with(lambda a, b: a >> b, other, True)

    def __eq__(self, other: Any) -> Any:
        return self._compared(operator.eq, other)

    def __ne__(self, other: Any) -> Any:
        return self._compared(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._with(lambda a, b: a < b, other)

    def __le__(self, other: Any) -> Any:
        return self._with(lambda a, b: a <= b, other)

    def __gt__(self, other: Any) -> Any:
        return self._with(lambda a, b: a > b, other)

    def __ge__(self, other: Any) -> Any:
        return self._with(lambda a, b: a >= b, other)

    def __neg__(self) -> Any:
        return self.like([-e for e in self.entries])

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self.like([~e for e in self.entries])

    def __abs__(self) -> Any:
        return self.like([fn.abs(e) for e in self.entries])
