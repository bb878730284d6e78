"""Derivatives by central differences, and when they are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

STEPS = (2.0**-10, 2.0**-14, 2.0**-18, 2.0**-22, 2.0**-25)


def slope(f: Callable[[float], float], step: float) -> float:
    """The derivative at 0 by differences of the fourth order."""
    near, far = f(step) - f(-step), f(2 * step) - f(-2 * step)
    return (8 * near - far) / (12 * step)


def agree(derivative: float, slopes: Sequence[float], rel: float, scale: float) -> bool:
    """Return whether a derivative is one of some slopes, of a function of values of this scale."""
    return any(
        abs(derivative - slope) <= rel * max(abs(derivative), abs(slope)) + 1e-8 * (1 + abs(scale))
        for slope in slopes
    )
