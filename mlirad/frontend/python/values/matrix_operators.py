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
from mlirad.frontend.python.values.scalar import Scalar


class Elementwise:
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
                raise TaichiCompilationError(f"shapes {shape} and {argument.shape} do not match")
        return self.like([function(*group) for group in zip(*lists)])

    def _with(
        self, function: Callable[[Scalar, Scalar], Scalar], other: object, swapped: bool = False
    ) -> Any:
        if not (ex.is_scalar(other) or isinstance(other, Elementwise | list | tuple | np.ndarray)):
            return NotImplemented
        operand = self.made_from(other) if isinstance(other, np.ndarray) else other
        pair = (operand, self) if swapped else (self, operand)
        return self.map_with(function, *pair)

    def _compared(self, test: Callable[[object, object], Any], other: object) -> Any:
        """Compare entries; in Python scope, lists of other shapes are repeated as NumPy does."""
        if isinstance(other, list | tuple) and not in_kernel() and np.shape(other) != self.shape:
            compared = test(np.asarray(self), np.asarray(other))
            return self.made_from(compared.tolist())
        return self._with(test, other)

    def __add__(self, other: Operand) -> Any:
        return self._with(operator.add, other)

    def __radd__(self, other: Operand) -> Any:
        return self._with(operator.add, other, True)

    def __sub__(self, other: Operand) -> Any:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Operand) -> Any:
        return self._with(operator.sub, other, True)

    def __mul__(self, other: Operand) -> Any:
        return self._with(operator.mul, other)

    def __rmul__(self, other: Operand) -> Any:
        return self._with(operator.mul, other, True)

    def __truediv__(self, other: Operand) -> Any:
        return self._with(operator.truediv, other)

    def __rtruediv__(self, other: Operand) -> Any:
        return self._with(operator.truediv, other, True)

    def __floordiv__(self, other: Operand) -> Any:
        return self._with(operator.floordiv, other)

    def __rfloordiv__(self, other: Operand) -> Any:
        return self._with(operator.floordiv, other, True)

    def __mod__(self, other: Operand) -> Any:
        return self._with(operator.mod, other)

    def __rmod__(self, other: Operand) -> Any:
        return self._with(operator.mod, other, True)

    def __pow__(self, other: Operand) -> Any:
        return self._with(operator.pow, other)

    def __rpow__(self, other: Operand) -> Any:
        return self._with(operator.pow, other, True)

    def __and__(self, other: Operand) -> Any:
        return self._with(operator.and_, other)

    def __rand__(self, other: Operand) -> Any:
        return self._with(operator.and_, other, True)

    def __or__(self, other: Operand) -> Any:
        return self._with(operator.or_, other)

    def __ror__(self, other: Operand) -> Any:
        return self._with(operator.or_, other, True)

    def __xor__(self, other: Operand) -> Any:
        return self._with(operator.xor, other)

    def __rxor__(self, other: Operand) -> Any:
        return self._with(operator.xor, other, True)

    def __lshift__(self, other: Operand) -> Any:
        return self._with(operator.lshift, other)

    def __rlshift__(self, other: Operand) -> Any:
        return self._with(operator.lshift, other, True)

    def __rshift__(self, other: Operand) -> Any:
        return self._with(operator.rshift, other)

    def __rrshift__(self, other: Operand) -> Any:
        return self._with(operator.rshift, other, True)

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, other)

    def __lt__(self, other: Operand) -> Any:
        return self._with(operator.lt, other)

    def __le__(self, other: Operand) -> Any:
        return self._with(operator.le, other)

    def __gt__(self, other: Operand) -> Any:
        return self._with(operator.gt, other)

    def __ge__(self, other: Operand) -> Any:
        return self._with(operator.ge, other)

    def __neg__(self) -> Any:
        return self.like([-e for e in self.entries])

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return self.like([~e for e in self.entries])

    def __abs__(self) -> Any:
        return self.like([abs(e) for e in self.entries])

    def any(self) -> Any:
        """Whether some entry is not zero."""
        return reduce(operator.or_, [e != 0 for e in self.entries])

    def all(self) -> Any:
        """Whether no entry is zero."""
        return reduce(operator.and_, [e != 0 for e in self.entries])


Rows = list | tuple | np.ndarray[Any, Any]
Operand = Scalar | Elementwise | Rows
