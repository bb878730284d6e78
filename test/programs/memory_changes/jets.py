"""Numbers with their first and second derivative, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Jet:
    """Values of functions of x, and their derivatives with respect to x, for each element."""

    def __init__(self, value: Array, first: Array, second: Array) -> None:
        self.value, self.first, self.second = value, first, second

    @classmethod
    def variable(cls, x: Array) -> Jet:
        """x itself."""
        return cls(x, np.ones_like(x), np.zeros_like(x))

    @classmethod
    def constant(cls, value: Array) -> Jet:
        """What does not depend on x."""
        return cls(value, np.zeros_like(value), np.zeros_like(value))

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.value + other.value, self.first + other.first, self.second + other.second)

    def __mul__(self, other: Jet) -> Jet:
        return Jet(
            self.value * other.value,
            self.first * other.value + self.value * other.first,
            self.second * other.value + 2 * self.first * other.first + self.value * other.second,
        )

    def sin(self) -> Jet:
        """Its sine."""
        slope, curvature = np.cos(self.value), -np.sin(self.value)
        return Jet(
            np.sin(self.value),
            slope * self.first,
            curvature * self.first**2 + slope * self.second,
        )

    def scaled(self, factor: float) -> Jet:
        """The product with a constant."""
        return Jet(factor * self.value, factor * self.first, factor * self.second)

    def where(self, condition: Array, other: Jet) -> Jet:
        """Its elements where the condition holds, else those of the other."""
        return Jet(
            np.where(condition, self.value, other.value),
            np.where(condition, self.first, other.first),
            np.where(condition, self.second, other.second),
        )
