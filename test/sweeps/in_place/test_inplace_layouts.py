"""Precisions, offsets and layouts of fields updated in place; against finite differences."""

from __future__ import annotations

import pytest
from gradients import check, scalar, scatter, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_mixed_precision_in_place() -> None:
    x, loss = variable(N), scalar()
    h = ti.field(ti.f32, shape=N, needs_grad=True)
    h.fill(0.5)

    @ti.kernel
    def step():
        for i in x:
            h[i] = ti.cast(2, ti.f32) * h[i]
            x[i] = x[i] * x[i] * ti.cast(h[i], ti.f64)
            h[i] = ti.cast(0.5, ti.f32)

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_fields_with_offsets_in_place() -> None:
    x = ti.field(ti.f64, shape=(4, 3), offset=(-2, 5), needs_grad=True)
    scatter(x)
    loss = scalar()

    @ti.kernel
    def step(t: ti.i32):
        for i, j in x:
            x[i, j] *= 0.1 + 0.1 * (i + j)
        for j in range(5, 8):
            for i in range(-1, 2):
                x[i, j] = x[i - 1, j] * x[i, j]
        for j in range(5, 8):
            x[t - 2, j] = ti.sin(x[t - 2, j])

    check(lambda: (step(0), step(1), step(3), total(x, loss)), [x], loss)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_an_offset_and_a_write_by_element() -> None:
    x = ti.field(ti.f64, shape=4, offset=-2, needs_grad=True)
    y = ti.field(ti.f64, shape=4, offset=3, needs_grad=True)
    scatter(x)
    scatter(y, seed=1)
    loss = scalar()

    @ti.kernel
    def step():
        for i in x:
            y[i + 5] *= x[i] * y[i + 5]

    def run() -> None:
        step()
        x[-2] = 0.3
        x[1] = 0.4
        step()
        y[4] = 2.0
        step()
        total(y, loss)

    check(run, [x, y], loss)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_blocks_in_blocks() -> None:
    x, y = (ti.field(ti.f64, needs_grad=True) for _ in range(2))
    ti.root.dense(ti.ij, (2, 1)).dense(ti.ij, (1, 3)).dense(ti.i, 2).place(x)
    ti.root.dense(ti.j, 3).dense(ti.i, 4).place(y)
    loss = scalar()
    scatter(x)
    scatter(y, seed=1)

    @ti.kernel
    def step():
        for i, j in x:
            y[i, j] *= x[i, j]
        for i in range(4):
            for j in range(1, 3):
                x[i, j] = x[i, j - 1] * y[i, j]

    def run() -> None:
        step()
        x[1, 2] = 0.5
        step()
        y.copy_from(x)
        step()
        total(x, loss)
        total(y, loss)

    check(run, [x, y], loss)
