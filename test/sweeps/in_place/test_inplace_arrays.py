"""Arrays that kernels take as arguments and update in place; against finite differences."""

from __future__ import annotations

import pytest
from gradients import array, check, scalar, scatter, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_arrays_change_roles_in_place() -> None:
    a, c, loss = array(N), array(N, seed=1), scalar()
    one = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def step(p: one, q: one, shift: ti.i32):
        for i in range(N):
            p[i] *= q[(i + shift) % N] + p[i]
        for i in range(N):
            q[i] = ti.sin(p[i] * q[i])

    @ti.kernel
    def end(p: one):
        for i in range(N):
            loss[None] += p[i] * p[N - 1 - i]

    check(lambda: (step(a, c, 1), step(c, a, 2), step(a, c, 0), end(a), end(c)), [a, c], loss)


def test_an_array_of_matrices_in_place() -> None:
    m = ti.ndarray(ti.types.matrix(2, 2, ti.f64), shape=3, needs_grad=True)
    scatter(m)
    loss = scalar()

    @ti.kernel
    def step(a: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f64), ndim=1)):
        for i in a:
            a[i] = a[i] @ a[i] * 0.4
            a[i][0, 1] *= a[i].determinant() + 1.3

    @ti.kernel
    def end(a: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f64), ndim=1)):
        for i in a:
            loss[None] += a[i].trace() * a[i][0, 1]

    check(lambda: (step(m), step(m), end(m)), [m], loss)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_field_and_an_array_exchange() -> None:
    x, a, loss = variable(N), array(N, seed=3), scalar()

    @ti.kernel
    def swap(p: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in range(N):
            x[i], p[i] = p[i] * x[i], x[i] * x[i]

    check(lambda: (swap(a), swap(a), a.fill(0.7), swap(a), total(x, loss)), [x, a], loss)


def test_an_array_row_by_row() -> None:
    a, loss = array(4, 3), scalar()
    two = ti.types.ndarray(dtype=ti.f64, ndim=2)

    @ti.kernel
    def step(p: two, t: ti.i32):
        for j in range(3):
            p[t, j] = p[t - 1, j] * p[t, j] + ti.sin(p[t, j])

    @ti.kernel
    def back(p: two):
        for j in range(3):
            for t in range(3):
                p[2 - t, j] *= p[3 - t, j]
            loss[None] += p[0, j]

    check(lambda: (step(a, 1), step(a, 3), step(a, 2), back(a)), [a], loss)
