"""Programs that step in place, each beside the form that is indexed by time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, check_pair, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N, STEPS = 5, 20


def times(operator: str, state: Any, factor: Any) -> Any:
    """A kernel that updates in place, one that writes to the next time; `step` is compile-time."""

    @ti.kernel
    def update():
        for i in range(N):
            if ti.static(operator == "*="):
                state[i] *= factor[i]
            elif ti.static(operator == "/="):
                state[i] /= factor[i] + 1.0
            elif ti.static(operator == "**="):
                state[i] **= 2
            elif ti.static(operator == "logistic"):
                state[i] = (2.5 + factor[i]) * state[i] * (1.0 - state[i])
            else:
                state[i] = ti.sin(state[i] * state[i]) + 0.1 * factor[i]

    return update


def written(operator: str, states: Any, factor: Any) -> Any:
    """The same update, from one time to the next."""

    @ti.kernel
    def update(t: ti.i32):
        for i in range(N):
            v = states[t, i]
            if ti.static(operator == "*="):
                v *= factor[i]
            elif ti.static(operator == "/="):
                v /= factor[i] + 1.0
            elif ti.static(operator == "**="):
                v **= 2
            elif ti.static(operator == "logistic"):
                v = (2.5 + factor[i]) * v * (1.0 - v)
            else:
                v = ti.sin(v * v) + 0.1 * factor[i]
            states[t + 1, i] = v

    return update


@pytest.mark.parametrize(
    "operator, steps",
    [("*=", STEPS), ("/=", STEPS), ("**=", 3), ("logistic", STEPS), ("x*x", STEPS)],
)
def test_twenty_launches_in_place(operator: str, steps: int) -> None:
    state, factor, loss = variable(N, low=0.2, high=0.8), variable(N, low=0.4, high=0.9), scalar()
    states = ti.field(ti.f64, shape=(steps + 1, N), needs_grad=True)
    update, update_at = times(operator, state, factor), written(operator, states, factor)

    @ti.kernel
    def begin():
        for i in range(N):
            states[0, i] = state[i]

    @ti.kernel
    def finish():
        for i in range(N):
            loss[None] += state[i] * (1.0 + state[i] * factor[i])

    @ti.kernel
    def finish_at(t: ti.i32):
        for i in range(N):
            loss[None] += states[t, i] * (1.0 + states[t, i] * factor[i])

    def overwriting() -> None:
        for _ in range(steps):
            update()
        finish()

    def obeying() -> None:
        begin()
        for t in range(steps):
            update_at(t)
        finish_at(steps)

    check_pair(overwriting, obeying, [state, factor], loss)


def test_powers_in_place_on_loss_element_and_component() -> None:
    x, loss = variable(N), scalar()
    v = ti.Vector.field(3, ti.f64, shape=N, needs_grad=True)
    v.from_numpy(np.random.default_rng(0).uniform(0.5, 1.2, (N, 3)))

    @ti.kernel
    def run():
        for i in range(N):
            v[i][1] *= x[i]
            v[i][2] /= x[i] + v[i][1]
            v[i][0] **= 3
            x[i] = x[i] * x[i]
            v[i] *= v[i][2]
            loss[None] += v[i].sum() * x[i]

    @ti.kernel
    def scale_loss():
        loss[None] *= x[0]
        loss[None] /= 1.5 + x[1] * loss[None]
        loss[None] **= 2
        loss[None] = loss[None] * loss[None]

    check(lambda: (run(), scale_loss(), scale_loss()), [x, v], loss)


def test_serial_inner_loops_in_place() -> None:
    x, y, loss = variable(N), variable(N), scalar()
    z = ti.field(ti.f64, shape=(N, 7), needs_grad=True)

    @ti.kernel
    def overwriting():
        for i in range(N):
            for j in range(6):
                y[i] *= 0.5 + ti.sin(x[i] * j)
                y[i] = y[i] * y[i] + 0.3
            loss[None] += y[i]

    @ti.kernel
    def obeying():
        for i in range(N):
            z[i, 0] = y[i]
            for j in range(6):
                v = z[i, j] * (0.5 + ti.sin(x[i] * j))
                z[i, j + 1] = v * v + 0.3
            loss[None] += z[i, 6]

    check_pair(overwriting, obeying, [x, y], loss)


def test_symplectic_euler() -> None:
    x, v, k, loss = variable(N), variable(N, low=-0.5, high=0.5), variable(N), scalar()
    xs, vs = (ti.field(ti.f64, shape=(STEPS + 1, N), needs_grad=True) for _ in range(2))

    @ti.kernel
    def kick():
        for i in range(N):
            v[i] -= 0.1 * k[i] * ti.sin(x[i])

    @ti.kernel
    def drift():
        for i in range(N):
            x[i] += 0.1 * v[i]

    @ti.kernel
    def begin():
        for i in range(N):
            xs[0, i], vs[0, i] = x[i], v[i]

    @ti.kernel
    def step(t: ti.i32):
        for i in range(N):
            vs[t + 1, i] = vs[t, i] - 0.1 * k[i] * ti.sin(xs[t, i])
        for i in range(N):
            xs[t + 1, i] = xs[t, i] + 0.1 * vs[t + 1, i]

    @ti.kernel
    def finish():
        for i in range(N):
            loss[None] += x[i] * v[i]

    @ti.kernel
    def finish_at():
        for i in range(N):
            loss[None] += xs[STEPS, i] * vs[STEPS, i]

    def overwriting() -> None:
        for _ in range(STEPS):
            kick()
            drift()
        finish()

    def obeying() -> None:
        begin()
        for t in range(STEPS):
            step(t)
        finish_at()

    check_pair(overwriting, obeying, [x, v, k], loss)


def test_double_buffers_reused() -> None:
    a, c, loss = variable(N), variable(N), scalar()
    levels = ti.field(ti.f64, shape=(STEPS + 1, N), needs_grad=True)

    @ti.kernel
    def smooth(source: ti.template(), target: ti.template()):
        for i in range(N):
            left, right = source[(i + N - 1) % N], source[(i + 1) % N]
            target[i] = ti.sin(left * right + source[i])

    @ti.kernel
    def begin():
        for i in range(N):
            levels[0, i] = a[i]

    @ti.kernel
    def smooth_at(t: ti.i32):
        for i in range(N):
            left, right = levels[t, (i + N - 1) % N], levels[t, (i + 1) % N]
            levels[t + 1, i] = ti.sin(left * right + levels[t, i])

    @ti.kernel
    def finish():
        for i in range(N):
            loss[None] += a[i] * a[i]

    @ti.kernel
    def finish_at():
        for i in range(N):
            loss[None] += levels[STEPS, i] * levels[STEPS, i]

    def overwriting() -> None:
        for t in range(STEPS):
            smooth(*((a, c) if t % 2 == 0 else (c, a)))
        finish()

    def obeying() -> None:
        begin()
        for t in range(STEPS):
            smooth_at(t)
        finish_at()

    check_pair(overwriting, obeying, [a], loss)


def test_gauss_seidel_sweeps() -> None:
    u, f, loss = variable(N + 2), variable(N + 2), scalar()
    us = ti.field(ti.f64, shape=(5, N + 2), needs_grad=True)

    @ti.kernel
    def sweep():
        ti.loop_config(serialize=True)
        for i in range(1, N + 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + 0.1 * ti.sin(u[i] * f[i])

    @ti.kernel
    def begin():
        for i in range(N + 2):
            us[0, i] = u[i]

    @ti.kernel
    def sweep_at(t: ti.i32):
        us[t + 1, 0] = us[t, 0]
        us[t + 1, N + 1] = us[t, N + 1]
        ti.loop_config(serialize=True)
        for i in range(1, N + 1):
            us[t + 1, i] = 0.5 * (us[t + 1, i - 1] + us[t, i + 1]) + 0.1 * ti.sin(us[t, i] * f[i])

    @ti.kernel
    def finish():
        for i in u:
            loss[None] += u[i] * u[i] * u[i]

    @ti.kernel
    def finish_at():
        for i in u:
            loss[None] += us[4, i] ** 3

    def overwriting() -> None:
        for _ in range(4):
            sweep()
        finish()

    def obeying() -> None:
        begin()
        for t in range(4):
            sweep_at(t)
        finish_at()

    check_pair(overwriting, obeying, [u, f], loss)


@pytest.mark.parametrize("opaque", [False, True])
def test_averages_and_blending_in_place_along_columns(opaque: bool) -> None:
    """Linear recursions need nothing saved; blending that stops where it is opaque needs its
    transparency."""
    x, out, loss = variable(N, 6), variable(N), scalar()
    clear = ti.field(ti.f64, shape=N, needs_grad=True)

    @ti.kernel
    def average():
        for i in range(N):
            for j in range(1, 6):
                x[i, j] = 0.9 * x[i, j - 1] + 0.1 * x[i, j]
            loss[None] += x[i, 5]

    @ti.kernel
    def blend():
        for i in range(N):
            clear[i] = 1.0
            out[i] = 0.0
            for j in range(6):
                alpha = 0.4 * x[i, j]
                out[i] += clear[i] * alpha * x[i, 5 - j]
                clear[i] *= 1.0 - alpha
                if clear[i] < 0.2:
                    break
            loss[None] += out[i] * out[i]

    @ti.kernel
    def blend_in_locals():
        for i in range(N):
            light, colour = 1.0, 0.0
            for j in range(6):
                alpha = 0.4 * x[i, j]
                colour += light * alpha * x[i, 5 - j]
                light *= 1.0 - alpha
                if light < 0.2:
                    break
            loss[None] += colour * colour

    if opaque:
        check_pair(blend, blend_in_locals, [x], loss)
    else:
        check_pair(average, average, [x], loss, saves=False)
