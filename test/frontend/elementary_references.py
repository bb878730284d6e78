"""Elementary functions of one argument by NumPy, and their first and second derivatives, at points
where they are smooth, and at the ends of their domains."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, erfc, inf, log, nan, pi
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Derivatives = tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]
_BELL = 2.0 / pi**0.5
LOG_2, LOG_10 = log(2.0), log(10.0)


def _logistic_pair(x: Array) -> Array:
    return 1.0 - np.tanh(x) ** 2


# the function, and its first and second derivative
REFERENCES: dict[str, Derivatives] = {
    "acos": (np.arccos, lambda x: -1 / np.sqrt(1 - x * x), lambda x: -x / np.sqrt(1 - x * x) ** 3),
    "acosh": (
        np.arccosh,
        lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),
        lambda x: -x / (np.sqrt(x - 1) * np.sqrt(x + 1)) ** 3,
    ),
    "asin": (np.arcsin, lambda x: 1 / np.sqrt(1 - x * x), lambda x: x / np.sqrt(1 - x * x) ** 3),
    "asinh": (np.arcsinh, lambda x: 1 / np.hypot(x, 1), lambda x: -x / np.hypot(x, 1) ** 3),
    "atan": (np.arctan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "atanh": (
        np.arctanh,
        lambda x: 1 / ((1 - x) * (1 + x)),
        lambda x: 2 * x / ((1 - x) * (1 + x)) ** 2,
    ),
    "cbrt": (
        np.cbrt,
        lambda x: 1 / (3 * np.cbrt(x) ** 2),
        lambda x: -2 / (9 * np.cbrt(x) ** 5),
    ),
    "cos": (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)),
    "cosh": (np.cosh, np.sinh, np.cosh),
    "erf": (
        np.vectorize(erf, [float]),
        lambda x: _BELL * np.exp(-x * x),
        lambda x: -2 * x * _BELL * np.exp(-x * x),
    ),
    "erfc": (
        np.vectorize(erfc, [float]),
        lambda x: -_BELL * np.exp(-x * x),
        lambda x: 2 * x * _BELL * np.exp(-x * x),
    ),
    "exp": (np.exp, np.exp, np.exp),
    "exp2": (np.exp2, lambda x: LOG_2 * np.exp2(x), lambda x: LOG_2**2 * np.exp2(x)),
    "expm1": (np.expm1, np.exp, np.exp),
    "log": (np.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log10": (np.log10, lambda x: 1 / (x * LOG_10), lambda x: -1 / (x**2 * LOG_10)),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
    "log2": (np.log2, lambda x: 1 / (x * LOG_2), lambda x: -1 / (x**2 * LOG_2)),
    "rsqrt": (
        lambda x: 1 / np.sqrt(x),
        lambda x: -0.5 * (1 / np.sqrt(x)) ** 3,
        lambda x: 0.75 * (1 / np.sqrt(x)) ** 5,
    ),
    "sin": (np.sin, np.cos, lambda x: -np.sin(x)),
    "sinh": (np.sinh, np.cosh, np.sinh),
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 / x**1.5),
    "tan": (np.tan, lambda x: 1 + np.tan(x) ** 2, lambda x: 2 * np.tan(x) * (1 + np.tan(x) ** 2)),
    "tanh": (np.tanh, _logistic_pair, lambda x: -2 * np.tanh(x) * _logistic_pair(x)),
}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, inf, -inf, nan])
_EVERYWHERE = np.array([-4.2, -2.5, -1.1, -0.6, -0.01, 1e-4, 0.3, 0.9, 1.7, 3.3, 5.9])
_POSITIVE = np.array([1e-20, 1e-3, 0.2, 0.97, 1.02, 4.0, 120.0, 1e20])
_INSIDE = np.array([-0.97, -0.5, -0.01, 1e-4, 0.25, 0.8, 0.99])
_WIDE = np.array([-1e18, -30.0, -1.1, -0.4, 1e-5, 0.8, 25.0, 1e18])
_POINTS = {
    **dict.fromkeys(("acos", "asin", "atanh"), _INSIDE),
    **dict.fromkeys(("log", "log10", "log2", "rsqrt", "sqrt"), _POSITIVE),
    **dict.fromkeys(("asinh", "atan"), _WIDE),
    "cbrt": np.array([-1e18, -30.0, -1.1, -1e-5, 1e-5, 0.8, 25.0, 1e18]),
    "tanh": np.array([-1.8, -0.6, -1e-3, 1e-5, 0.4, 1.7]),  # 1 - tanh(x)**2 cancels in the tails
    "acosh": np.array([1.0001, 1.02, 1.7, 4.0, 120.0, 1e18]),
    "log1p": np.array([-0.99, -0.5, -1e-6, 1e-6, 0.3, 5.0, 1e18]),
}


def points_of(name: str) -> Array:
    """Points at which a function, and its derivatives, are finite."""
    return _POINTS.get(name, _EVERYWHERE)
