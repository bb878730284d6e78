"""Dual numbers, which nest, and the elementary functions of floats and of them.

A tangent is an array of derivatives along all inputs; of an outer dual number, value and tangent
are inner ones. Constants are Python's floats.
"""

from __future__ import annotations

import math
from typing import Any

Number = Any  # a float or a Dual
MARGIN = 1e-7
LARGE = 1e5


class UnclearError(Exception):
    """A decision that rounding may turn, or a number too large to compare its derivatives."""


class Dual:
    """A number with its derivative."""

    __slots__ = ("tangent", "value")

    def __init__(self, value: Number, tangent: Number) -> None:
        self.value, self.tangent = value, tangent

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.tangent + other.tangent)
        if isinstance(other, float | int):
            return Dual(self.value + other, self.tangent)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.tangent)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.tangent - other.tangent)
        if isinstance(other, float | int):
            return Dual(self.value - other, self.tangent)
        return NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            a, b = self.value, other.value
            return Dual(a * b, self.tangent * b + other.tangent * a)
        if isinstance(other, float | int):
            return Dual(self.value * other, self.tangent * other)
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            result = self.value / other.value
            return Dual(result, (self.tangent - other.tangent * result) * (1.0 / other.value))
        if isinstance(other, float | int):
            return self * (1.0 / other)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        result = other / self.value
        return Dual(result, self.tangent * (-result / self.value))

    def __pow__(self, exponent: int) -> Any:
        result = self if exponent else 1.0
        for _ in range(exponent - 1):
            result = result * self
        return result

    def __float__(self) -> float:
        return primal(self)

    def _decided(self, other: Any) -> float:
        difference = primal(self) - primal(other)
        if abs(difference) < MARGIN:
            raise UnclearError("a decision between equal numbers")
        return difference

    def __lt__(self, other: Any) -> bool:
        return self._decided(other) < 0

    def __gt__(self, other: Any) -> bool:
        return self._decided(other) > 0

    __le__, __ge__ = __lt__, __gt__

    def __abs__(self) -> Any:
        return self if self > 0.0 else -self

    def __mod__(self, divisor: float) -> Any:
        return self - float(whole(self / divisor)) * divisor

    def __repr__(self) -> str:
        return f"Dual({self.value})"


def primal(number: Number) -> float:
    """The number without its derivatives."""
    while isinstance(number, Dual):
        number = number.value
    return float(number)


def whole(number: Number) -> int:
    """The integer below a number that is not near to one."""
    value = primal(number)
    if abs(value - round(value)) < MARGIN:
        raise UnclearError("an integer, rounded down")
    return math.floor(value)


def sin(x: Number) -> Number:
    return Dual(sin(x.value), x.tangent * cos(x.value)) if isinstance(x, Dual) else math.sin(x)


def cos(x: Number) -> Number:
    return Dual(cos(x.value), x.tangent * -sin(x.value)) if isinstance(x, Dual) else math.cos(x)


def exp(x: Number) -> Number:
    if not isinstance(x, Dual):
        return math.exp(x)
    result = exp(x.value)
    return Dual(result, x.tangent * result)


def tanh(x: Number) -> Number:
    if not isinstance(x, Dual):
        return math.tanh(x)
    result = tanh(x.value)
    return Dual(result, x.tangent * (1.0 - result * result))


def sqrt(x: Number) -> Number:
    if not isinstance(x, Dual):
        return math.sqrt(x)
    result = sqrt(x.value)
    return Dual(result, x.tangent * (0.5 / result))


def atan2(y: Number, x: Number) -> Number:
    if not isinstance(x, Dual) and not isinstance(y, Dual):
        return math.atan2(y, x)
    x, y = (n if isinstance(n, Dual) else Dual(n, 0.0) for n in (x, y))
    square = 1.0 / (x.value * x.value + y.value * y.value)
    tangent = y.tangent * (x.value * square) - x.tangent * (y.value * square)
    return Dual(atan2(y.value, x.value), tangent)
