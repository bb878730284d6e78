"""Loops over rows that compute the same, with what may change it between them: their results and
gradients against NumPy's, wherever rows lie, and on one thread and two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlirad as ti

ROWS, N = 5, 40
Array = np.ndarray[Any, Any]


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def by_differences(function: Callable[[Array], Array], x: Array, seed: Array) -> Array:
    found, step = np.zeros_like(x), 1e-6
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += step
        above = (function(moved) * seed).sum()
        moved[index] -= 2 * step
        found[index] = (above - (function(moved) * seed).sum()) / (2 * step)
    return found


def placed(layout: str) -> tuple[Any, Any]:
    """Two fields of rows, with gradients."""
    x, y = ti.field(ti.f64), ti.field(ti.f64)
    if layout == "side by side":
        ti.root.dense(ti.ij, (ROWS, N)).place(x, y)
    elif layout == "in blocks":
        ti.root.dense(ti.ij, (1, 5)).dense(ti.ij, (ROWS, 8)).place(x)
        ti.root.dense(ti.ij, (1, 5)).dense(ti.ij, (ROWS, 8)).place(y)
    else:
        for field in (x, y):
            ti.root.dense(ti.ij, (ROWS, N)).place(field)
    ti.root.lazy_grad()
    return x, y


def kernels(x: Any, y: Any) -> dict[str, tuple[Any, Callable[[Array], Array]]]:
    """Kernels, and what they are."""

    @ti.kernel
    def plain():
        for i in range(ROWS):
            most = x[i, 0]
            for j in range(N):
                most = ti.max(most, x[i, j])
            total = 0.0
            for j in range(N):
                total += ti.exp(x[i, j] - most)
            for j in range(N):
                y[i, j] = ti.exp(x[i, j] - most) / total

    @ti.kernel
    def behind_a_write():
        for i in range(ROWS):
            total = 0.0
            for j in range(N):
                total += ti.exp(x[i, j])
            y[i, 3] = total
            for j in range(N):
                y[i, j] = ti.exp(x[i, j]) / total

    @ti.kernel
    def in_a_branch():
        for i in range(ROWS):
            total = 0.0
            for j in range(N):
                total += ti.sin(x[i, j])
            if i % 2 == 0:
                for j in range(N):
                    y[i, j] = ti.sin(x[i, j]) * total
            else:
                for j in range(N):
                    y[i, j] = ti.sin(x[i, j]) + total

    @ti.kernel
    def from_three_on():
        for i in range(ROWS):
            total = 0.0
            for j in range(3, N):
                total += ti.tanh(2.0 * x[i, j])
            for j in range(3, N):
                y[i, j] = ti.tanh(2.0 * x[i, j]) * total
            for j in range(3):
                y[i, j] = ti.tanh(2.0 * x[i, j])

    @ti.kernel
    def of_the_index():
        for i in range(ROWS):
            total = 0.0
            for j in range(N):
                total += x[i, j] * ti.cos(0.1 * x[i, j] * j)
            for j in range(N):
                y[i, j] = ti.cos(0.1 * x[i, j] * j) * total

    def cosines(x: Array) -> Array:
        c = np.cos(0.1 * x * np.arange(N))
        return np.asarray(c * (x * c).sum(-1, keepdims=True))

    def tangents(x: Array) -> Array:
        t = np.tanh(2 * x)
        return np.hstack([t[:, :3], t[:, 3:] * t[:, 3:].sum(-1, keepdims=True)])

    def branches(x: Array) -> Array:
        s, is_even = np.sin(x), (np.arange(ROWS) % 2 == 0)[:, None]
        total = s.sum(-1, keepdims=True)
        return np.where(is_even, s * total, s + total)

    return {
        "plain": (plain, softmax),
        "behind a write": (
            behind_a_write,
            lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
        ),
        "in a branch": (in_a_branch, branches),
        "from three on": (from_three_on, tangents),
        "of the index": (of_the_index, cosines),
    }


@pytest.mark.parametrize("lanes", (1, 8))
@pytest.mark.parametrize("threads", (1, 2))
@pytest.mark.parametrize("layout", ("apart", "side by side", "in blocks"))
def test_against_numpy(layout: str, threads: int, lanes: int) -> None:
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads, lanes=lanes)
    x, y = placed(layout)
    random = np.random.default_rng(1)
    values, seed = random.normal(size=(2, ROWS, N))
    for name, (kernel, expected) in kernels(x, y).items():
        x.from_numpy(values)
        y.fill(0.0)
        kernel()
        np.testing.assert_allclose(y.to_numpy(), expected(values), rtol=1e-12, err_msg=name)
        x.grad.fill(0.0)
        y.grad.from_numpy(seed)
        kernel.grad()
        slopes = by_differences(expected, values, seed)
        np.testing.assert_allclose(x.grad.to_numpy(), slopes, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("threads", (1, 2))
def test_what_changes_between(threads: int) -> None:
    """Rows that are written in place, or between the loops, also by another name."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    x = ti.field(ti.f64, (ROWS, N))
    values = np.random.default_rng(2).normal(size=(ROWS, N))

    @ti.kernel
    def in_place():
        for i in range(ROWS):
            total = 0.0
            for j in range(N):
                total += ti.exp(x[i, j])
            for j in range(N):
                x[i, j] = ti.exp(x[i, j]) / total
            for j in range(N):
                x[i, j] = ti.exp(x[i, j])

    x.from_numpy(values)
    in_place()
    once = np.exp(values) / np.exp(values).sum(-1, keepdims=True)
    np.testing.assert_allclose(x.to_numpy(), np.exp(once), rtol=1e-12)

    @ti.kernel
    def of_arguments(
        a: ti.types.ndarray(dtype=ti.f64, ndim=2), c: ti.types.ndarray(dtype=ti.f64, ndim=2)
    ):
        for i in range(ROWS):
            for j in range(N):
                c[i, j] = ti.sin(a[i, j])
            for j in range(N):
                c[i, j] += ti.sin(a[i, j])

    array = values.copy()
    of_arguments(array, array)
    once = np.sin(values)
    np.testing.assert_allclose(array, once + np.sin(once), rtol=1e-12)
    other = np.zeros_like(values)
    of_arguments(values, other)
    np.testing.assert_allclose(other, 2 * once, rtol=1e-12)


def test_a_sum_in_a_field_of_one_element() -> None:
    ti.init(default_fp=ti.f64)
    x, y, total = ti.field(ti.f64, N), ti.field(ti.f64, N), ti.field(ti.f64, ())

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for j in range(N):
            total[None] += ti.exp(x[j])
            y[j] = total[None]
        ti.loop_config(serialize=True)
        for j in range(N):
            total[None] *= ti.exp(-x[j]) + 0.5
            y[j] += ti.exp(x[j]) * total[None]

    values = np.random.default_rng(5).normal(size=N)
    x.from_numpy(values)
    run()
    sums = np.cumsum(np.exp(values))
    products = sums[-1] * np.cumprod(np.exp(-values) + 0.5)
    np.testing.assert_allclose(y.to_numpy(), sums + np.exp(values) * products, rtol=1e-12)


@pytest.mark.cpu_code("looks at the code for a CPU")
def test_exponentials_are_computed_once() -> None:
    ti.init(default_fp=ti.f64, lanes=1)
    x, y = placed("apart")
    kernel, _ = kernels(x, y)["plain"]
    x.fill(0.5)
    kernel()
    kernel.grad()
    for mode in ("primal", "reverse"):
        code = kernel.ir(stage="memref", mode=mode)
        assert code.count("math.exp") == 1 and code.count("memref.alloca") == 1
