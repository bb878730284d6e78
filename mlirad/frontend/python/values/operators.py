"""Python's operators on values of a kernel, each by one method of their class."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class Operators:
    """A value with Python's binary operators and comparisons."""

    __hash__ = object.__hash__

    def operate(self, function: Callable[[Any, Any], Any], left: object, right: object) -> Any:
        """Apply a function of `operator` to operands, one of which is this value; NotImplemented
        if the other one is of no type that it knows."""
        raise NotImplementedError

    def __add__(self, other: object) -> Any:
        return self.operate(operator.add, self, other)

    def __radd__(self, other: object) -> Any:
        return self.operate(operator.add, other, self)

    def __sub__(self, other: object) -> Any:
        return self.operate(operator.sub, self, other)

    def __rsub__(self, other: object) -> Any:
        return self.operate(operator.sub, other, self)

    def __mul__(self, other: object) -> Any:
        return self.operate(operator.mul, self, other)

    def __rmul__(self, other: object) -> Any:
        return self.operate(operator.mul, other, self)

    def __truediv__(self, other: object) -> Any:
        return self.operate(operator.truediv, self, other)

    def __rtruediv__(self, other: object) -> Any:
        return self.operate(operator.truediv, other, self)

    def __floordiv__(self, other: object) -> Any:
        return self.operate(operator.floordiv, self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return self.operate(operator.floordiv, other, self)

    def __mod__(self, other: object) -> Any:
        return self.operate(operator.mod, self, other)

    def __rmod__(self, other: object) -> Any:
        return self.operate(operator.mod, other, self)

    def __pow__(self, other: object) -> Any:
        return self.operate(operator.pow, self, other)

    def __rpow__(self, other: object) -> Any:
        return self.operate(operator.pow, other, self)

    def __and__(self, other: object) -> Any:
        return self.operate(operator.and_, self, other)

    def __rand__(self, other: object) -> Any:
        return self.operate(operator.and_, other, self)

    def __or__(self, other: object) -> Any:
        return self.operate(operator.or_, self, other)

    def __ror__(self, other: object) -> Any:
        return self.operate(operator.or_, other, self)

    def __xor__(self, other: object) -> Any:
        return self.operate(operator.xor, self, other)

    def __rxor__(self, other: object) -> Any:
        return self.operate(operator.xor, other, self)

    def __lshift__(self, other: object) -> Any:
        return self.operate(operator.lshift, self, other)

    def __rlshift__(self, other: object) -> Any:
        return self.operate(operator.lshift, other, self)

    def __rshift__(self, other: object) -> Any:
        return self.operate(operator.rshift, self, other)

    def __rrshift__(self, other: object) -> Any:
        return self.operate(operator.rshift, other, self)

    def __eq__(self, other: object) -> Any:
        return self.operate(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return self.operate(operator.ne, self, other)

    def __lt__(self, other: object) -> Any:
        return self.operate(operator.lt, self, other)

    def __le__(self, other: object) -> Any:
        return self.operate(operator.le, self, other)

    def __gt__(self, other: object) -> Any:
        return self.operate(operator.gt, self, other)

    def __ge__(self, other: object) -> Any:
        return self.operate(operator.ge, self, other)
