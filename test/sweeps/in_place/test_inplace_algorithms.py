"""Algorithms that work in place, and values that choose what is overwritten; against finite
differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gradients import check, integers, scalar, scatter, total, variable

import mlirad as ti
from mlirad.runtime.program import program

N = 5


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Double precision, two threads that share loops of any length, little time for compilation."""
    ti.init(default_fp=ti.f64, cpu_max_num_threads=2, opt_level=1, random_seed=3)
    program().config.thread_worth = 0
    yield
    ti.reset()


def test_lu_in_place() -> None:
    n = 4
    a, loss = variable(n, n), scalar()

    @ti.kernel
    def factor():
        for i in range(n):
            a[i, i] += 4.0
        ti.loop_config(serialize=True)
        for k in range(n):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]

    @ti.kernel
    def determinant():
        d = 1.0
        ti.loop_config(serialize=True)
        for i in range(n):
            d *= a[i, i]
        loss[None] += ti.log(d)

    start = a.to_numpy()
    (gradient,) = check(lambda: (factor(), determinant()), [a], loss)
    np.testing.assert_allclose(gradient, np.linalg.inv(start + 4 * np.eye(n)).T, rtol=1e-10)


def test_cholesky_in_place() -> None:
    n = 3
    a, loss = variable(n, n), scalar()

    @ti.kernel
    def factor():
        if True:
            for i in range(n):
                a[i, i] += 5.0
            for j in range(n):
                for q in range(j):
                    a[j, j] -= a[j, q] ** 2
                a[j, j] = ti.sqrt(a[j, j])
                for i in range(j + 1, n):
                    for q in range(j):
                        a[i, j] -= a[i, q] * a[j, q]
                    a[i, j] /= a[j, j]

    check(lambda: (factor(), factor(), total(a, loss)), [a], loss)


def test_butterflies_with_a_known_stride() -> None:
    x, loss = variable(8), scalar()

    @ti.kernel
    def stage(h: ti.template()):
        for k in range(4):
            i = (k // h) * 2 * h + k % h
            a, c = x[i], x[i + h]
            x[i] = a + c * c
            x[i + h] = a * c

    check(lambda: (stage(1), stage(2), stage(4), total(x, loss)), [x], loss)


def test_the_place_of_the_least() -> None:
    x, loss, best = variable(N), scalar(), scalar()
    place = ti.field(ti.i32, shape=())

    @ti.kernel
    def replace_least():
        best[None] = 100.0
        ti.loop_config(serialize=True)
        for i in range(N):
            old = ti.atomic_min(best[None], x[i])
            if x[i] < old:
                place[None] = i
        x[place[None]] *= x[place[None]] * 1.7 + best[None]

    check(lambda: (replace_least(), replace_least(), replace_least(), total(x, loss)), [x], loss)


def test_swaps_by_a_permutation_that_changes() -> None:
    x, loss, p = variable(6), scalar(), integers(5, 3, 0, 1, 4, 2)

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for i in range(6):
            a = p[i]
            x[i], x[a] = x[a] * x[i], x[i]
            p[i], p[a] = p[a], p[i]

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_a_while_in_a_while_that_shortens_it() -> None:
    x, loss, n = variable(N), scalar(), integers(3, 1, 4, 0, 2)

    @ti.kernel
    def step():
        for i in x:
            while n[i] > 0:
                n[i] -= 1
                m = n[i]
                while m > 0:
                    m -= 1
                    x[i] = ti.sin(x[i] * (m + 1)) + 0.2 * x[i]
                    if x[i] > 1.05:
                        n[i] -= 1
                        break
            n[i] = i % 3

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_masks_of_truth_values() -> None:
    x, loss, mask = variable(N), scalar(), ti.field(ti.u1, shape=N)

    @ti.kernel
    def step():
        for i in x:
            mask[i] = x[i] > 0.8
            x[i] = x[i] * x[i] if mask[i] else x[i] * 0.5
            mask[i] = not mask[i]
            if mask[i]:
                x[i] += 0.3 * x[i] ** 2

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_small_and_large_integers_that_wrap() -> None:
    x, loss = variable(N), scalar()
    large, small = ti.field(ti.i64, shape=N), ti.field(ti.u8, shape=N)

    @ti.kernel
    def step():
        for i in x:
            large[i] += 3
            small[i] += ti.u8(200)
            x[i] *= 1.0 + ti.cast(large[i] * small[i] % 7, ti.f64) * x[i] * 0.1

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_components_found_by_loops() -> None:
    m, loss = ti.Matrix.field(2, 3, ti.f64, shape=3, needs_grad=True), scalar()
    scatter(m)

    @ti.kernel
    def step(t: ti.i32):
        for i in m:
            for a in range(2):
                for c in range(3):
                    m[i][a, c] = m[i][(a + t) % 2, (c + 1) % 3] * m[i][a, c] + ti.sin(
                        m[i][1 - a, c]
                    )

    @ti.kernel
    def end():
        for i in m:
            loss[None] += (m[i] * m[i]).sum()

    check(lambda: (step(0), step(1), step(2), end()), [m], loss)


def test_places_chosen_by_values() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        if True:
            for i in range(N):
                x[i if x[i] > 0.9 else N - 1 - i] *= y[i] if y[i] < x[i] else x[i]
                y[ti.select(x[i] > y[i], i, 0)] = ti.max(x[i], y[i], 0.7) * ti.min(x[i] * 2, 1.1)

    check(lambda: (step(), step(), total(x, loss), total(y, loss)), [x, y], loss)


def test_an_element_is_given_back_its_value() -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step():
        for i in x:
            a = x[i]
            x[i] = a * a
            loss[None] += x[i] ** 2
            x[i] = a
            loss[None] += x[i] ** 3

    check(lambda: (step(), step()), [x], loss)


@pytest.mark.parametrize("shift", [0, 1])
def test_rows_reused_by_rotation(shift: int) -> None:
    u, loss = variable(3, 4), scalar()

    @ti.kernel
    def step(a: ti.i32, c: ti.i32):
        for j in range(4):
            u[c, j] = ti.sin(u[a, j]) * u[c, j]

    def run() -> None:
        for t in range(8):
            step(t % 3, (2 * t + shift) % 3)
        total(u, loss)

    check(run, [u], loss)


@pytest.mark.filterwarnings(
    "ignore:.*is written in Python inside a tape"
)  # copies and fills cut derivatives here
def test_copies_and_fills_between_launches() -> None:
    x, y, z, loss = variable(N), variable(N, seed=1), variable(N, seed=2), scalar()

    @ti.kernel
    def multiply():
        for i in x:
            x[i] = y[i] * z[i] * x[i]

    def run() -> None:
        multiply()
        y.copy_from(x)
        multiply()
        z.copy_from(y)
        x.copy_from(x)
        y.fill(0.5)
        multiply()
        x.copy_from(z)
        multiply()
        total(x, loss)

    check(run, [x, y, z], loss)


def test_arguments_in_ranges_of_loops_that_are_cut() -> None:
    """`range(m)` within a parallel loop writes nothing, so the kernel's loops can be launched one
    by one."""
    x, loss = variable(N), scalar()

    @ti.kernel
    def step(m: ti.i32, w: ti.f64):
        for i in x:
            a = x[i]
            for _ in range(ti.max(m, int(w))):
                a *= abs(w) * a
            x[i] *= a
        for i in range(m):
            x[i] = ti.sin(x[i])

    check(lambda: (step(2, 0.9), step(3, 1.1), total(x, loss)), [x], loss)


def test_sums_over_what_a_later_loop_overwrites() -> None:
    """Loops in front of the only one that writes an array need it as it was before the launch."""
    x, y, w, loss = variable(6), variable(6, seed=1), variable(6, seed=2), scalar()

    @ti.kernel
    def normalise():
        s = 0.0
        for i in x:
            s += x[i] * x[i]
        for i in x:
            x[i] = ti.sin(x[i]) / ti.sqrt(s)
        for i in y:
            y[i] = y[i] * s

    @ti.kernel
    def softmax():
        most = -1e9
        for i in x:
            ti.atomic_max(most, x[i])
        z = 0.0
        for i in x:
            z += ti.exp(x[i] - most)
        for i in x:
            x[i] = ti.exp(x[i] - most) / z

    @ti.kernel
    def relax():
        first = x[0]
        s = 0.0
        for i in x:
            s += x[i] * x[i]
        for i in x:
            for _ in range(3):
                x[i] = ti.sin(x[i] * s) + first * x[i]

    @ti.kernel
    def returning() -> ti.f64:
        s = 0.0
        for i in x:
            w[i] = x[i] ** 2 * y[i]
        for i in y:
            y[i] = y[i] * y[i]
        for i in y:
            s += w[i]
        return s

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i] ** 2 * (i + 1) + y[i] * x[i] + w[i]

    for step in (normalise, softmax, relax, returning):

        def run(step: Any = step) -> None:
            step()
            step()
            add_up()

        check(run, [x, y, w], loss)
        assert kept_bytes(run, loss) <= 4 * 6 * 8


def test_what_a_loop_left_and_a_later_one_needs_with_a_local() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            s += x[i] * x[i]
        for i in x:
            x[i] *= s
        for i in x:
            loss[None] += x[i] * x[i] * s

    check(run, [x], loss)


def kept_bytes(run: Any, loss: Any) -> int:
    with ti.ad.Tape(loss) as tape:
        run()
    return tape.explain().bytes
