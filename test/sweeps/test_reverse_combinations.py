"""Reverse mode of constructs in combination, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradients import check, scalar, scatter, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_the_value_an_atomic_returns() -> None:
    x, acc, loss = variable(6), variable(3), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            for j in range(6):
                old = ti.atomic_add(acc[i], x[j] * x[i])
                loss[None] += ti.sin(old) * x[j]

    check(run, [x, acc], loss)


def test_the_largest_value() -> None:
    x, m, loss = variable(7), variable(), scalar()

    @ti.kernel
    def run():
        for i in range(7):
            ti.atomic_max(m[None], x[i] * 2)
        for i in range(7):
            loss[None] += m[None] ** 2 * x[i]

    def program() -> None:
        m.fill(0)
        run()

    check(program, [x], loss)


def test_loop_in_condition() -> None:
    x, loss = variable(6), scalar()

    @ti.func
    def total(k, a):
        s = 0.0
        for j in range(k):
            s = s * a + x[j]
        return s

    @ti.kernel
    def run():
        for i in range(3):
            k, a = 1, x[i]
            while total(k, a) < 3.0 and k < 6:
                a = ti.sin(a) + 0.1 * total(k, a)
                k += 1
            loss[None] += a * a

    check(run, [x], loss)


def test_carried_through_condition_block() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        a, b = x[0], 1.0
        while a < 50.0:
            a = a * (1.5 + x[1])
            b = b + ti.sin(a) * x[2]
        loss[None] = b * a
        if a > 1.0:
            c = a
            for j in range(3):
                c = ti.sin(c) + x[j]
            loss[None] += c

    check(run, [x], loss)


def test_short_loops_inside_a_long_one() -> None:
    x, loss = variable(2), scalar()

    @ti.kernel
    def run():
        for i in range(2):
            a = 0.1
            for _ in range(5000):
                for _ in range(200):
                    a = ti.sin(a + 0.001 * x[i])
            loss[None] += a

    with ti.ad.Tape(loss):
        run()
    assert np.isfinite(x.grad.to_numpy()).all()


def test_one_ndarray_for_two_arguments() -> None:
    x, loss = ti.ndarray(ti.f64, shape=4, needs_grad=True), scalar()
    scatter(x)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(4):
            b[i] = a[i] ** 2
        for i in range(4):
            loss[None] += a[i] * b[i]

    def program() -> None:
        run(x, x)

    check(program, [x], loss)


def test_two_arrays_swapped_roles() -> None:
    x, y, loss = (ti.ndarray(ti.f64, shape=s, needs_grad=True) for s in (4, 4, ()))
    scatter(x)
    scatter(y, seed=2)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(4):
            b[i] = ti.sin(a[i] * b[i])

    @ti.kernel
    def total(a: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(4):
            out[None] += a[i] ** 2

    def program() -> None:
        run(x, y)
        run(y, x)
        run(x, y)
        total(x, loss)
        total(y, loss)

    check(program, [x, y], loss)


def test_in_place_over_launches() -> None:
    u, k, loss = variable(8), variable(), scalar()

    @ti.kernel
    def step(t: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(1, 7):
            u[i] = ti.sin(u[i] + k[None] * (u[i - 1] - 2 * u[i] + u[i + 1]))
            if i == t:
                u[i] *= u[i - 1]

    @ti.kernel
    def total():
        for i in u:
            loss[None] += u[i] ** 2

    def program() -> None:
        for t in range(5):
            step(t)
        total()

    check(program, [u, k], loss)


def test_serial_vector_field_overwrites() -> None:
    v, loss = ti.Vector.field(3, ti.f64, shape=5, needs_grad=True), scalar()
    scatter(v)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(4):
            v[i + 1] = v[i].cross(v[i + 1]) + v[i]
            v[i][i % 3] *= v[i + 1].norm()
            for j in range(3):
                v[i][j] = ti.sin(v[i][(j + 1) % 3])
        for i in range(5):
            loss[None] += v[i].norm_sqr()

    check(run, [v], loss)


def test_a_result_that_nobody_uses() -> None:
    x, loss = variable(5), scalar()
    y = ti.field(ti.f64, shape=5)

    @ti.kernel
    def run():
        for i in x:
            a = x[i]
            b = a
            for j in range(3):
                a, b = b * x[j], a
            y[i] = a
            loss[None] += b

    check(run, [x], loss)


def test_a_loss_that_is_read() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(4):
            loss[None] = ti.sin(loss[None] + x[i]) * x[0]

    check(run, [x], loss)


def test_a_flag_carried_by_a_loop() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            done = False
            a = x[i]
            for j in range(6):
                if not done:
                    a = ti.sin(a * x[j])
                    done = j > i
                else:
                    a += x[j] ** 2
            loss[None] += a

    check(run, [x], loss)


def test_indices_of_other_integer_types() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            k = ti.cast(i, ti.i64)
            u = ti.cast(1, ti.u32)
            a = 1.0
            for _ in range(4):
                k = (k * 3 + 1) % 6
                u = (u * 5 + 1) % 6
                a = a * x[k] + x[u]
            loss[None] += a

    check(run, [x], loss)


def test_static_loops_over_fields() -> None:
    xs = [variable(3, seed=s) for s in range(3)]
    loss = scalar()

    @ti.kernel
    def run():
        for i in range(3):
            for f in ti.static(xs):
                for g in ti.static(xs):
                    loss[None] += f[i] * ti.sin(g[2 - i])

    check(run, xs, loss)


def test_fields_as_template_arguments() -> None:
    x, y, loss = variable(5), variable(5), scalar()

    @ti.kernel
    def copy_sine(a: ti.template(), b: ti.template()):
        for i in a:
            b[i] = ti.sin(a[i])

    @ti.kernel
    def total(a: ti.template()):
        for i in a:
            loss[None] += a[i] ** 2

    def program() -> None:
        copy_sine(x, y)
        copy_sine(y, x)
        copy_sine(x, y)
        total(y)

    check(program, [x], loss)
