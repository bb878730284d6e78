"""Reverse mode through stores, atomics and kernels of several parts, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradients import check, names_both, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_outer_local_summed_by_a_parallel_loop() -> None:
    x, y, loss = variable(40), variable(40, seed=4), scalar()

    @ti.kernel
    def run():
        s, t = 0.0, 1.0
        for i in range(40):
            s += x[i] ** 2
            t -= x[i] * y[i]
        r = ti.sin(s) * t
        for i in range(40):
            loss[None] += ti.exp(-r * x[i]) * y[i] + s * 0.01

    check(run, [x, y], loss)


def test_outer_integer_counted_by_a_parallel_loop() -> None:
    x, loss = variable(10), scalar()

    @ti.kernel
    def run():
        count = 0
        for i in range(10):
            if x[i] > 0.9:
                count += 1
        for i in range(10):
            loss[None] += x[i] ** 2 * count
        loss[None] += x[count % 10] ** 3

    check(run, [x], loss)


def test_serial_statements_between_parallel_loops() -> None:
    x, y, z, loss = variable(6), variable(6), variable(), scalar()

    @ti.kernel
    def run(scale: ti.f64):
        a = x[0] * scale
        y[0] = ti.sin(a)
        for i in range(1, 6):
            y[i] = x[i] * a + x[i - 1]
        b = y[2] * y[3]
        z[None] = b + a
        if b > 0:
            for i in range(6):
                loss[None] += y[i] * b
        loss[None] += z[None] ** 2

    check(lambda: run(1.3), [x], loss)


def test_several_kernels_and_chained_stores() -> None:
    x, a, b, loss = variable(5), variable(5), variable(5), scalar()

    @ti.kernel
    def first():
        for i in x:
            a[i] = x[i] * 2.0
            b[i] = a[i] * a[i]
            a[i] = ti.sin(b[i])

    @ti.kernel
    def second():
        for i in x:
            loss[None] += b[i] * a[4 - i]

    def run() -> None:
        first()
        second()

    check(run, [x], loss)
    refused = (ti.TaichiCompilationError, ti.TaichiRuntimeError)
    with pytest.raises(refused) as error, ti.ad.Tape(loss, rules="refuse"):
        run()
    names_both(error.value, "b[i] = a[i] * a[i]", "a[i] = ti.sin(b[i])")


def test_elements_overwritten_by_their_own_iteration() -> None:
    x, a, loss = variable(5), variable(5, seed=1), scalar()
    count = ti.field(ti.i32, shape=5)

    @ti.kernel
    def run():
        for i in x:
            for j in range(4):
                if count[i] % 2 == 0:
                    a[i] = ti.sin(a[i] * x[(i + j) % 5])
                    count[i] += 1
                else:
                    a[i] *= x[count[i] % 5] + a[i]
                    count[i] = 3 * count[i] - j
            loss[None] += a[i] * x[i]
        loss[None] *= x[0]

    check(run, [x, a], loss)


def test_a_loop_that_needs_what_another_loop_wrote() -> None:
    x, z, loss = variable(6), variable(6), scalar()
    count = ti.field(ti.i32, shape=6)

    @ti.kernel
    def run():
        for i in range(6):
            if count[i] < 2:
                z[i] += x[i] ** 2
            count[i] = (i + 2) % 5
        for i in range(6):
            a = x[0] if count[i] > 2 else x[i] * z[i]
            loss[None] += a * a

    check(run, [x, z], loss)


def test_stores_kill_earlier_stores() -> None:
    x, a, loss = variable(5), variable(5), scalar()

    @ti.kernel
    def run():
        for i in x:
            a[i] = x[i] ** 3
            a[i] = ti.sin(x[i])
            if i > 2:
                a[i] = x[0] * i
            a[i] += x[i]
        for i in x:
            loss[None] += a[i] ** 2
        loss[None] = loss[None] * 2.0
        for i in x:
            loss[None] += a[i]

    check(run, [x], loss)


def test_a_loss_overwritten_in_several_kernels() -> None:
    x, loss = variable(), scalar()

    @ti.kernel
    def set_to(factor: ti.f64):
        loss[None] = x[None] ** 2 * factor

    def run() -> None:
        for k in range(3):
            set_to(k + 1.0)

    (gradient,) = check(run, [x], loss)
    assert gradient == pytest.approx(6 * x[None])


def test_atomics_in_nested_loops() -> None:
    x, bins, loss = variable(4, 6), variable(5), scalar()

    @ti.kernel
    def run():
        for i, j in x:
            bins[(i * j) % 5] += ti.sin(x[i, j])
            for k in range(i):
                ti.atomic_add(bins[(j + k) % 5], x[i, j] * x[k, j])
                ti.atomic_sub(bins[k], x[k, j] ** 2)
        for k in range(5):
            loss[None] += bins[k] ** 2

    def program() -> None:
        bins.fill(0.25)
        run()

    check(program, [x], loss)


def test_elements_read_in_one_iteration_and_added_to_in_another() -> None:
    x, w, loss = variable(6), variable(8), scalar()

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(6):
            w[2] += x[i] ** 2
            loss[None] += w[i]
        ti.loop_config(serialize=True)
        for i in range(6):
            loss[None] += w[i] * 2.0
            w[i + 1] += x[i]
            w[5 - i] += w[3]

    check(run, [x, w], loss)


def test_updates_of_fields_by_multiplication() -> None:
    x, loss = variable(5), scalar()

    @ti.kernel
    def run():
        for i in x:
            x[i] *= 2.0
            x[i] -= 0.5
            x[i] /= 4.0
        for i in x:
            loss[None] += x[i] * 3.0

    check(run, [x], loss)


def test_random_draws_are_replayed() -> None:
    x, loss = variable(12), scalar()

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            a = x[i] * ti.random()
            for _ in range(n):
                a = ti.sin(a * ti.random(ti.f64)) + ti.randn() * x[i] ** 2
                if ti.random() > 0.5:
                    a *= x[(i + 1) % 12]
            loss[None] += a

    def twice() -> None:
        run(3)
        run(2)

    check(twice, [x], loss)


def test_grad_of_a_kernel_replays_the_draws_of_its_last_launch() -> None:
    x, y = variable(8), variable(8)

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i] * ti.random()

    run()
    run()
    y.grad.fill(1.0)
    run.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), y.to_numpy() / x.to_numpy(), rtol=1e-12)


def test_what_nothing_reads_again_is_not_written_again() -> None:
    """A leapfrog step in one loop: its reverse needs the positions that it found, no velocities."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=1)
    x, v = (ti.field(ti.f64, 8, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in x:
            v[i] -= 0.1 * ti.sin(x[i])
            x[i] += 0.1 * v[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    start = np.linspace(0.5, 1.2, 8)
    x.from_numpy(start)
    with ti.ad.Tape(loss) as tape:
        for _ in range(5):
            step()
        total()
    (row,) = tape.explain()
    assert row.verdict == "redone"
    read, written = (int(place.split(":")[-2]) for place in (row.read, row.written))
    assert read == written - 1
    position, velocity = start.astype(complex) + 1e-20j, np.zeros(8)
    for _ in range(5):
        velocity = velocity - 0.1 * np.sin(position)
        position = position + 0.1 * velocity
    expected = (position**2).imag / 1e-20
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-13)
