"""Forms of one program that must not change its gradient: split, unrolled, laid out anew, on more threads."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter

import mlirad as ti

SHAPE = (4, 6)


def plain(x: Any) -> None:
    ti.root.dense(ti.ij, SHAPE).place(x)


def blocked(x: Any) -> None:
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, 2).place(x)


def columns(x: Any) -> None:
    ti.root.dense(ti.j, SHAPE[1]).dense(ti.i, SHAPE[0]).place(x)


LAYOUTS = [plain, blocked, columns]


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


def gradient(form: Any, layout: Any, threads: int, shared: bool = False) -> list[np.ndarray[Any, Any]]:
    """The gradient of one form, checked by differences."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=threads)
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
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


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("form", [split, together, unrolled])
def test_forms_and_layouts(form: Any, layout: Any, threads: int, expected: list[np.ndarray[Any, Any]]) -> None:
    for found, other in zip(gradient(form, layout, threads), expected):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)


def test_arrays_of_structures(expected: list[np.ndarray[Any, Any]]) -> None:
    for found, other in zip(gradient(split, plain, 2, shared=True), expected):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-13)
