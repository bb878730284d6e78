"""Python's operators on values of a kernel, each by one method of their class."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

Method = Callable[[Any, object], Any]


def _method(function: Callable[[Any, Any], Any]) -> Method:
    return lambda self, other: self.operate(function, self, other)


def _methods(function: Callable[[Any, Any], Any]) -> tuple[Method, Method]:
    """Return the methods for this value on the left, and on the right."""
    return _method(function), lambda self, other: self.operate(function, other, self)


class Operators:
    """A value with Python's binary operators and comparisons."""

    __hash__ = object.__hash__

    def operate(self, function: Callable[[Any, Any], Any], left: object, right: object) -> Any:
        """Apply a function of `operator` to operands, one of which is this value; return
        NotImplemented if the type of the other one is unknown."""
        raise NotImplementedError

    __add__, __radd__ = _methods(operator.add)
    __sub__, __rsub__ = _methods(operator.sub)
    __mul__, __rmul__ = _methods(operator.mul)
    __truediv__, __rtruediv__ = _methods(operator.truediv)
    __floordiv__, __rfloordiv__ = _methods(operator.floordiv)
    __mod__, __rmod__ = _methods(operator.mod)
    __pow__, __rpow__ = _methods(operator.pow)
    __and__, __rand__ = _methods(operator.and_)
    __or__, __ror__ = _methods(operator.or_)
    __xor__, __rxor__ = _methods(operator.xor)
    __lshift__, __rlshift__ = _methods(operator.lshift)
    __rshift__, __rrshift__ = _methods(operator.rshift)
    __eq__, __ne__ = _method(operator.eq), _method(operator.ne)
    __lt__, __le__ = _method(operator.lt), _method(operator.le)
    __gt__, __ge__ = _method(operator.gt), _method(operator.ge)
