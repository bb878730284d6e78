"""Forms of one program that must not change its gradient: split, unrolled, laid out anew, on more
threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter

import mlirad as ti
from mlirad.runtime.program import program

SHAPE = (4, 6)


def plain(x: Any) -> None:
    ti.root.dense(ti.ij, SHAPE).place(x)


def blocked(x: Any) -> None:
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, 2).place(x)


def columns(x: Any) -> None:
    ti.root.dense(ti.j, SHAPE[1]).dense(ti.i, SHAPE[0]).place(x)


RUNS = [(plain, 2), (blocked, 1), (columns, 2)]  # layouts, and how many threads


def split(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    @ti.kernel
    def first():
        for i, j in x:
            y[i, j] = ti.sin(x[i, j]) * y[i, j]

    @ti.kernel
    def second():
        for i, j in x:
            x[i, j] *= y[i, j]

    @ti.kernel
    def third():
        for i in range(SHAPE[0]):
            for j in range(1, SHAPE[1]):
                x[i, j] = x[i, j - 1] * x[i, j] + y[i, j]

    @ti.kernel
    def fourth():
        for i, j in x:
            loss[None] += x[i, j] * y[i, j] * (i + 1)

    def run() -> None:
        for _ in range(2):
            first()
            second()
        third()
        fourth()

    return run


def together(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    @ti.kernel
    def first():
        for i, j in x:
            for _ in range(2):
                y[i, j] = ti.sin(x[i, j]) * y[i, j]
                x[i, j] *= y[i, j]

    @ti.kernel
    def second():
        for i in range(SHAPE[0]):
            for j in range(1, SHAPE[1]):
                x[i, j] = x[i, j - 1] * x[i, j] + y[i, j]
        for i, j in x:
            loss[None] += x[i, j] * y[i, j] * (i + 1)

    return lambda: (first(), second(), None)[-1]


def unrolled(x: Any, y: Any, loss: Any) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i, j in x:
            for _ in ti.static(range(2)):
                y[i, j] = ti.sin(x[i, j]) * y[i, j]
                x[i, j] *= y[i, j]
        for i in range(SHAPE[0]):
            for j in ti.static(range(1, SHAPE[1])):
                x[i, j] = x[i, j - 1] * x[i, j] + y[i, j]
        for i in range(SHAPE[0]):
            for j in ti.static(range(SHAPE[1])):
                loss[None] += x[i, j] * y[i, j] * (i + 1)

    return run


def gradient(
    form: Any, layout: Any, threads: int, shared: bool = False, names: tuple[str, str] = ("x", "y")
) -> list[np.ndarray[Any, Any]]:
    """The gradient of one form, checked by differences; threads share loops of any length."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    program().config.thread_worth = 0
    x, y = (ti.field(ti.f64, needs_grad=True, name=name) for name in names)
    loss = scalar()
    if shared:
        ti.root.dense(ti.ij, SHAPE).place(y, x)
    else:
        layout(y)
        layout(x)
    scatter(x, seed=1)
    scatter(y, seed=2)
    return check(form(x, y, loss), [x, y], loss)


@pytest.fixture(scope="module")
def expected() -> list[np.ndarray[Any, Any]]:
    return gradient(split, plain, 1)


@pytest.mark.parametrize(("layout", "threads"), RUNS)
@pytest.mark.parametrize("form", [split, together, unrolled])
def test_forms_and_layouts(
    form: Any, layout: Any, threads: int, expected: list[np.ndarray[Any, Any]]
) -> None:
    for found, other in zip(gradient(form, layout, threads), expected):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)


def test_arrays_of_structures(expected: list[np.ndarray[Any, Any]]) -> None:
    for found, other in zip(gradient(split, plain, 2, shared=True), expected):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("names", [("y", "x"), ("zebra", "apple"), ("loss_", "field")])
@pytest.mark.parametrize("form", [split, together, unrolled])
def test_other_names(
    form: Any, names: tuple[str, str], expected: list[np.ndarray[Any, Any]]
) -> None:
    for found, other in zip(gradient(form, blocked, 1, names=names), expected):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)


# Each statement of a kernel in a kernel of its own, under indices, conditions and bounds that are
# overwritten.

ORDER = np.array([2, 0, 3, 1], np.int32)


def steered(x: Any, y: Any, loss: Any, order: Any, cut: bool) -> Callable[[], None]:
    @ti.kernel
    def turn(part: ti.template()):
        for i in range(SHAPE[0]):
            for j in range(SHAPE[1]):
                if ti.static(part in (0, 1)):
                    y[i, j] *= x[order[i], j]
        for i in range(SHAPE[0]):
            for j in range(order[i]):
                if ti.static(part in (0, 2)):
                    x[i, j] = ti.sin(x[i, j]) * x[i, j] + y[i, j + 1] * (1 if order[i] > 1 else 2)
        for i in range(SHAPE[0]):
            if ti.static(part in (0, 3)):
                order[i] = (order[i] + 1) % 4

    @ti.kernel
    def total():
        for i, j in x:
            loss[None] += x[i, j] * y[i, j] * (order[i] + 1)

    def run() -> None:
        order.from_numpy(ORDER)
        for _ in range(3):
            for part in (1, 2, 3) if cut else (0,):
                turn(part)
        total()

    return run


@pytest.mark.parametrize(("layout", "threads"), RUNS)
@pytest.mark.parametrize("cut", [True, False])
def test_steered_by_fields(cut: bool, layout: Any, threads: int) -> None:
    def form(x: Any, y: Any, loss: Any) -> Callable[[], None]:
        return steered(x, y, loss, ti.field(ti.i32, shape=SHAPE[0]), cut)

    known = steered_gradient()
    for found, other in zip(gradient(form, layout, threads), known):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)


def steered_gradient() -> list[np.ndarray[Any, Any]]:
    """The same by hand, in NumPy: forward with all states kept, then backward."""
    generator = {
        seed: np.random.default_rng([seed, *SHAPE]).uniform(0.5, 1.5, SHAPE) for seed in (1, 2)
    }
    x, y, order = generator[1].copy(), generator[2].copy(), ORDER.copy()
    history = []
    for _ in range(3):
        history.append((x.copy(), y.copy(), order.copy()))
        y = y * x[order]
        inside = np.arange(SHAPE[1]) < order[:, None]
        weight = np.where(order > 1, 1.0, 2.0)[:, None]
        shifted = np.roll(y, -1, axis=1)
        x = np.where(inside, np.sin(x) * x + shifted * weight, x)
        order = (order + 1) % 4
    dx, dy = y * (order + 1)[:, None], x * (order + 1)[:, None]
    for before, y_before, order in reversed(history):
        inside = np.arange(SHAPE[1]) < order[:, None]
        weight = np.where(order > 1, 1.0, 2.0)[:, None]
        dy = dy + np.roll(np.where(inside, dx * weight, 0.0), 1, axis=1)
        dx = np.where(inside, dx * (np.cos(before) * before + np.sin(before)), dx)
        np.add.at(dx, order, dy * y_before)
        dy = dy * before[order]
    return [dx, dy]
