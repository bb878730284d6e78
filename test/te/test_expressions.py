"""Gradients of expressions: indices of all kinds, choices, elementary functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from te.derivatives import check, given

import mlirad as ti
from mlirad import te

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": te.sin,
    "cos": te.cos,
    "tan": te.tan,
    "asin": lambda x: te.asin(te.tanh(x) * 0.9),
    "acos": lambda x: te.acos(te.tanh(x) * 0.9),
    "atan": te.atan,
    "tanh": te.tanh,
    "exp": te.exp,
    "log": lambda x: te.log(x * x + 0.5),
    "sqrt": lambda x: te.sqrt(x * x + 0.5),
    "rsqrt": lambda x: te.rsqrt(x * x + 0.5),
    "erf": te.erf,
    "erfc": te.erfc,
    "abs": te.abs,
    "sigmoid": te.sigmoid,
    "relu": te.relu,
    "gelu": te.gelu,
    "clip": lambda x: te.clip(x, -0.7, 0.6),
    "power": lambda x: (x * x + 1.0) ** 1.7 + x**3,
    "quotient": lambda x: 1.0 / (2.0 + te.sin(x)) - x / 3,
    "atan2": lambda x: te.atan2(x, 1.5) + te.atan2(2.0, x * x + 1.0),
    "round": lambda x: x * te.round(3 * x),
    "casts": lambda x: te.cast(te.cast(x, ti.f32), ti.f64) * te.cast(te.cast(x, ti.i32), ti.f64),
    "maximum": lambda x: te.maximum(x, 0.25) * te.minimum(x, x * x),
    "select": lambda x: te.select(x > 0, x * x, te.sin(x)),
}


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64, opt_level=1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    x = given(7, 5)
    tolerance = 1e-2 if name == "casts" else 1e-6  # f32 moves in steps
    y = te.compute((7, 5), lambda i, j: FUNCTIONS[name](x[i, j]))
    if name == "casts":
        _check_casts(x, y)
    else:
        check(y, [x], tolerance=tolerance)


def _check_casts(x: te.Tensor, y: te.Tensor) -> None:
    """Differences see the steps of f32 and of integers."""
    head = given(7, 5)
    value = np.random.default_rng(0).uniform(-3, 3, (7, 5))
    (found,) = te.build(list(te.differentiate(y, [x], head=head)), [x, head])(
        value, np.ones((7, 5))
    )
    np.testing.assert_allclose(found, np.trunc(value), rtol=0, atol=0)


def test_a_nan_in_the_branch_that_is_not_taken() -> None:
    x = given(4)
    y = te.compute((4,), lambda i: te.select(x[i] > 0, te.log(x[i]), 0.0))
    head = given(4)
    (found,) = te.build(list(te.differentiate(y, [x], head=head)), [x, head])(
        np.array([1.0, -1.0, 0.0, 4.0]), np.ones(4)
    )
    np.testing.assert_array_equal(found, [1.0, 0.0, 0.0, 0.25])


def _reads() -> dict[str, Callable[[te.Tensor], te.Tensor]]:
    """Of x, of 10 rows and 12 columns."""
    return {
        "transposed": lambda x: te.compute((12, 10), lambda i, j: x[j, i] * x[j, i]),
        "backwards": lambda x: te.compute((10, 12), lambda i, j: x[9 - i, 11 - j] * x[i, j]),
        "diagonal": lambda x: te.compute((10,), lambda i: x[i, i] * x[i, 11 - i]),
        "flattened": lambda x: te.compute((120,), lambda t: x[t // 12, t % 12] * x[t % 10, 0]),
        "reshaped": lambda x: te.compute(
            (4, 5, 6),
            lambda a, b, c: x[(30 * a + 6 * b + c) // 12, (30 * a + 6 * b + c) % 12] ** 2,
        ),
        "every second": lambda x: te.compute((5, 4), lambda i, j: x[2 * i + 1, 3 * j] ** 2),
        "skewed": lambda x: te.compute(
            (3, 2, 2), lambda i, j, k: x[i + j, 2 * i + 3 * j + k] * x[i, k]
        ),
        "repeated": lambda x: te.compute((20, 12), lambda i, j: te.sin(x[i // 2, j])),
        "tiled": lambda x: te.compute((20, 24), lambda i, j: x[i % 10, j % 12] ** 2),
        "rolled": lambda x: te.compute((10, 12), lambda i, j: x[(i + 3) % 10, (j + 11) % 12] ** 2),
        "clamped": lambda x: te.compute(
            (10, 12), lambda i, j: x[te.min(i + j, 9), te.max(j - 2, 0)] ** 2
        ),
        "padded": lambda x: te.compute(
            (14, 15),
            lambda i, j: te.select(
                te.all(i >= 2, i < 12, j >= 1, j < 13), x[i - 2, j - 1] ** 2, 0.5
            ),
        ),
        "reflected": lambda x: te.compute((19,), lambda i: x[te.select(i < 10, i, 18 - i), 3] ** 2),
        "a corner": lambda x: te.compute((10, 12), lambda i, j: x[0, 0] * x[i, j]),
        "pixels shuffled": lambda x: te.compute(
            (5, 24), lambda h, w: x[2 * h + w % 2, w // 2] ** 2
        ),
        "a triangle": lambda x: te.compute(
            (10, 10), lambda i, j: te.select(j <= i, x[i, j] ** 2, 0.0)
        ),
        "concatenated": lambda x: te.compute(
            (15, 12),
            lambda i, j: te.select(i < 10, x[te.min(i, 9), j], x[te.max(i - 10, 0), j] ** 2),
        ),
        "columns of patches": lambda x: te.compute(
            (8 * 10, 9), lambda t, u: x[t // 10 + u // 3, t % 10 + u % 3] ** 2
        ),
    }


@pytest.mark.parametrize("name", _reads())
def test_indices(name: str) -> None:
    x = given(10, 12)
    check(_reads()[name](x), [x])


def test_broadcasts() -> None:
    x, w, v = given(4, 1, 3), given(5, 1), given(1)
    y = te.compute((4, 5, 3), lambda i, j, k: te.sin(x[i, 0, k]) * w[j, 0] + v[0])
    check(y, [x, w, v])


def test_data_decide_what_is_read() -> None:
    x = given(10, 4)
    rows = te.placeholder((6,), ti.i32, "rows")
    picked = np.array([1, 3, 3, 0, 9, 1], np.int32)
    values = np.random.default_rng(1).normal(size=(10, 4))
    y = te.compute((6, 4), lambda i, j: x[rows[i], j] ** 2)
    found = check(y, [x, rows], [values, picked])
    np.testing.assert_allclose(found, values[picked] ** 2)
    inside = te.compute(
        (6, 4), lambda i, j: te.select(rows[i] < 9, x[te.min(rows[i] + 1, 9), j], 0.0)
    )
    check(inside, [x, rows], [values, picked])


def test_sizes() -> None:
    n = te.var("n")
    x = te.placeholder((n, 3), ti.f64, "x")
    head = te.placeholder((n + 2, 3), ti.f64, "head")
    y = te.compute(
        (n + 2, 3), lambda i, j: te.select(te.all(i >= 1, i < n + 1), x[i - 1, j] ** 2, 0.0)
    )
    step = te.build([y, *te.differentiate(y, [x], head=head)], [x, head])
    for length in (0, 1, 5):
        value = np.random.default_rng(length).normal(size=(length, 3))
        adjoint = np.random.default_rng(7).normal(size=(length + 2, 3))
        found, gradient = step(value, adjoint)
        np.testing.assert_allclose(found[1:-1], value**2)
        np.testing.assert_allclose(gradient, 2 * value * adjoint[1:-1])
