"""Serial recurrences, and aliasing within one field; against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradients import check, integers, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def test_a_recurrence_over_distances() -> None:
    x, loss = variable(12), scalar()

    @ti.kernel
    def step(d: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(d, 12):
            x[i] = x[i - d] * x[i] + ti.sin(x[11 - i])

    check(lambda: (step(1), step(5), step(2), total(x, loss)), [x], loss)


def test_halves_of_one_field() -> None:
    x, loss = variable(8), scalar()

    @ti.kernel
    def even():
        for i in range(4):
            x[2 * i] *= x[2 * i + 1]

    @ti.kernel
    def odd():
        for i in range(4):
            x[2 * i + 1] = ti.sin(x[2 * i] * x[2 * i + 1])

    @ti.kernel
    def fold():
        for i in range(4):
            x[i] *= x[7 - i]

    check(lambda: (even(), odd(), even(), fold(), odd(), total(x, loss)), [x], loss)


def test_red_and_black() -> None:
    u, f, loss = variable(5, 5), variable(5, 5, seed=1), scalar()

    @ti.kernel
    def sweep(colour: ti.i32):
        for i, j in ti.ndrange((1, 4), (1, 4)):
            if (i + j) % 2 == colour:
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                f[i, j] = 0.25 * around * f[i, j]
        for i, j in ti.ndrange((1, 4), (1, 4)):
            if (i + j) % 2 == colour:
                u[i, j] = f[i, j] - u[i, j] ** 2 * 0.1

    check(lambda: (sweep(0), sweep(1), sweep(0), sweep(1), total(u, loss)), [u, f], loss)


def test_a_stack_in_a_field() -> None:
    x, stack, top, loss = variable(N), variable(8), ti.field(ti.i32, shape=()), scalar()

    @ti.kernel
    def run():
        top[None] = 0
        ti.loop_config(serialize=True)
        for i in range(N):
            stack[top[None]] = x[i] * x[i]
            top[None] += 1
            if i % 2 == 1:
                top[None] -= 1
                a = stack[top[None]]
                top[None] -= 1
                stack[top[None]] = ti.sin(a * stack[top[None]])
                top[None] += 1
        while top[None] > 0:
            top[None] -= 1
            loss[None] += stack[top[None]] ** 2

    check(lambda: (run(), run()), [x], loss)


def test_bubble_sort() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def sort():
        ti.loop_config(serialize=True)
        for i in range(6):
            for j in range(5 - i):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]

    @ti.kernel
    def weigh():
        for i in x:
            loss[None] += x[i] ** 2 * (i + 1)

    def run() -> None:
        sort()
        weigh()

    (gradient,) = check(run, [x], loss)
    values = x.to_numpy()
    np.testing.assert_allclose(gradient, 2 * values * (values.argsort().argsort() + 1), rtol=1e-12)


def test_newton_iterations_in_place() -> None:
    x, y, loss = variable(N), variable(N), scalar()

    @ti.kernel
    def solve():
        for i in x:
            y[i] = 1.0
            while ti.abs(y[i] * y[i] - x[i]) > 1e-13:
                y[i] -= (y[i] * y[i] - x[i]) / (2.0 * y[i])
            loss[None] += y[i]

    (gradient,) = check(lambda: solve(), [x], loss)
    np.testing.assert_allclose(gradient, 0.5 / np.sqrt(x.to_numpy()), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_a_loss_in_the_middle() -> None:
    """The loss is an operand, a condition's subject and is reset in the middle."""
    x, loss = variable(N), scalar()

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def use():
        for i in x:
            if loss[None] > 1.0:
                x[i] *= loss[None] * 0.2
        loss[None] = ti.sqrt(loss[None]) * x[1]

    def run() -> None:
        add()
        use()
        add()
        loss[None] = 0.5
        add()
        use()

    check(run, [x], loss)


def test_random_draws_that_choose() -> None:
    x, loss, k = variable(N), scalar(), integers(0, 0, 0, 0, 0)

    @ti.kernel
    def step():
        for i in x:
            k[i] = ti.cast(ti.random(ti.f64) * N, ti.i32)
            x[i] = ti.sin(x[i] + ti.randn() * x[i])
            for _ in range(k[i]):
                if ti.random(ti.f64) > 0.4:
                    x[i] *= 0.6 + ti.random(ti.f64)

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_scalars_of_launches_steer_memory() -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step(i: ti.i32, w: ti.f64, flag: ti.u1, v: ti.types.vector(2, ti.f64)):
        if flag:
            x[i] *= w * x[(i + 1) % N]
        else:
            x[(i + 2) % N] = v[i % 2] * x[i] ** 2
        for j in range(i, N):
            x[j] = v[0] * x[j] + ti.sin(v[1] * x[j])

    def run() -> None:
        for t in range(N):
            step(t, 0.5 + 0.1 * t, t % 2 == 0, [0.9, 0.1 * t])
        total(x, loss)

    check(run, [x], loss)


@pytest.mark.filterwarnings("ignore:.*is written in Python inside a tape")
def test_hidden_gradients_in_place() -> None:
    x, y, loss = variable(N), ti.field(ti.f64, shape=N), scalar()
    v = ti.Vector.field(2, ti.f64, shape=N)

    @ti.kernel
    def step():
        for i in x:
            y[i] = y[i] * x[i] + x[i]
            v[i][i % 2] = y[i] * v[i][1 - i % 2] + y[i]
            x[i] = ti.sin(v[i].sum())

    @ti.kernel
    def end():
        for i in x:
            loss[None] += x[i] * v[i][0] + v[i][1] ** 2

    with pytest.warns(UserWarning, match="hidden"):
        check(lambda: (step(), step(), y.fill(0.3), step(), end()), [x], loss)
