"""Fit the polynomials of `mlirad/ir/elementary/coefficients.py` and write that file.

    python tools/fit_elementary.py

Each function of f32 needs a polynomial on a short interval. A weighted least squares fit whose
weights grow where the error is large (C. L. Lawson, 1961) gives the coefficients of the least
largest relative error. They are rounded to f32, and then changed in their last bits
while that lowers the largest error of the whole function, computed in the arithmetic of the target:
f32 with fused multiply-adds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent.parent / "mlirad/ir/elementary/coefficients.py"
Array = np.ndarray[Any, Any]
Evaluate = Callable[[Array, Sequence[Array]], Array]

LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # Cody and Waite 1980
LOG2E = np.float32(1.44269504)
TANH_END = np.float32(10)  # tanh of more is 1 in f32


def fma(a: Array, b: Array, c: Array) -> Array:
    """`a b + c`, rounded once."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def horner(x: Array, coefficients: Array) -> Array:
    """A polynomial, lowest degree first."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fma(total, x, np.float32(coefficient))
    return total


def power_of_e(x: Array, coefficients: Sequence[Array]) -> tuple[Array, Array]:
    """`n` and `r + r² P(r)`, which is `exp(r) - 1`, with `x = n ln 2 + r`."""
    n = np.rint(x * LOG2E)
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    return n.astype(np.int32), fma(horner(r, coefficients[0]), r * r, r)


def exp(x: Array, coefficients: Sequence[Array]) -> Array:
    """`2^n + 2^n (exp(r) - 1)`."""
    n, more = power_of_e(x, coefficients)
    return np.ldexp(np.float32(1) + more, n)


def tanh(x: Array, coefficients: Sequence[Array]) -> Array:
    """`E / (E + 2)` with `E = exp(2 x) - 1`, for positive numbers."""
    n, more = power_of_e(2 * np.minimum(x, TANH_END), coefficients)
    scale = np.ldexp(np.float32(1), n)
    less_one = fma(scale, more, scale - np.float32(1))
    return less_one / (less_one + np.float32(2))


def log1p(x: Array, coefficients: Sequence[Array]) -> Array:
    """`k ln 2 + f - f²/2 + f³ P(f)`, with `1 + x = 2^k (1 + f)`."""
    u = (np.float32(1) + x).astype(np.float32)
    k = (u.view(np.int32) - np.float32(np.sqrt(0.5)).view(np.int32)) >> 23
    scale = ((127 - k) << 23).astype(np.int32).view(np.float32)
    f = fma(x, scale, scale - np.float32(1))
    square = f * f
    rest = fma(horner(f, coefficients[0]) * f, square, k.astype(np.float32) * LN2_LOW)
    rest = fma(square, np.float32(-0.5), rest)
    return fma(k.astype(np.float32), LN2_HIGH, f + rest)


def lawson(target: Array, basis: Array, weights: Array) -> Array:
    """Coefficients of a sum whose largest weighted error from a target is the least."""
    lawson_weights = np.ones_like(target)
    best: tuple[float, Array] = (np.inf, np.zeros(0))
    for _ in range(400):
        scale = np.sqrt(lawson_weights) * weights
        solution = np.linalg.lstsq(basis * scale[:, None], target * scale, rcond=None)[0]
        error = np.abs(basis @ solution - target) * weights
        if error.max() < best[0]:
            best = error.max(), solution
        lawson_weights *= error / error.max() + 1e-3
        lawson_weights /= lawson_weights.sum()
    return best[1]


def powers(x: Array, degrees: range) -> Array:
    """Columns of powers."""
    return np.stack([x**degree for degree in degrees], axis=1)


def ulps(value: Array, exact: Array) -> Array:
    """The difference in units in the last place of the exact value."""
    spacing = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
    return np.abs(value.astype(np.float64) - exact) / spacing


def polish(evaluate: Evaluate, fitted: Sequence[Array], points: Array, exact: Array) -> list[Array]:
    """Coefficients in f32, changed in their last bits while that lowers the largest error."""
    best = [np.array(group, np.float32) for group in fitted]
    least = ulps(evaluate(points, best), exact).max()
    is_better = True
    while is_better:
        is_better = False
        for group, coefficients in enumerate(best):
            for position in range(len(coefficients)):
                for step in (-8, -3, -1, 1, 3, 8):
                    changed = [np.array(other) for other in best]
                    bits = changed[group][position : position + 1].view(np.int32)
                    bits += step
                    error = ulps(evaluate(points, changed), exact).max()
                    if error < least:
                        best, least, is_better = changed, error, True
    print(f"{evaluate.__name__}: {least:.3f} ulp on {len(points)} points", file=sys.stderr)
    return best


def chebyshev(low: float, high: float, count: int = 2000) -> Array:
    """Points that are dense at the ends."""
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(count) + 0.5) / count)


def fit_exp() -> list[Array]:
    """`P` of `exp(r) = 1 + r + r² P(r)`."""
    r = chebyshev(-0.3470, 0.3470)
    r = r[np.abs(r) > 1e-4]
    target = (np.exp(r) - 1 - r) / r**2
    coefficients = lawson(target, powers(r, range(5)), r**2 / np.exp(r))
    points = np.linspace(-87, 88, 60001).astype(np.float32)
    fitted = polish(exp, [coefficients], points, np.exp(points.astype(np.float64)))
    points = np.geomspace(1e-4, 10, 100001).astype(np.float32)
    error = ulps(tanh(points, fitted), np.tanh(points.astype(np.float64))).max()
    print(f"tanh: {error:.3f} ulp on {len(points)} points", file=sys.stderr)
    return fitted


def fit_log1p() -> list[Array]:
    """`P` of `log1p(f) = f - f²/2 + f³ P(f)`."""
    f = chebyshev(np.sqrt(0.5) - 1, np.sqrt(2) - 1)
    f = f[np.abs(f) > 1e-4]
    target = (np.log1p(f) - f + f**2 / 2) / f**3
    coefficients = lawson(target, powers(f, range(9)), np.abs(f**3 / np.log1p(f)))
    near, far = np.linspace(-0.999, 3, 60001), np.geomspace(1e-7, 1e30, 20001)
    points = np.concatenate([near, far, -np.geomspace(1e-7, 0.9, 9999)]).astype(np.float32)
    return polish(log1p, [coefficients], points, np.log1p(points.astype(np.float64)))


def main() -> None:
    """Fit the functions and write the file."""
    lines = [
        '"""Coefficients in f32, lowest degree first: `tools/fit_elementary.py` wrote them."""',
        "",
    ]
    for name, (coefficients,) in {"EXP": fit_exp(), "LOG1P": fit_log1p()}.items():
        numbers = ",\n    ".join(repr(float(value)) for value in coefficients)
        lines.append(f"{name} = (\n    {numbers},\n)")
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
