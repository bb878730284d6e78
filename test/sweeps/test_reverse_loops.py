"""Reverse mode through loops of every kind, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


# Loops.


def test_four_loops_with_statements_between() -> None:
    x, loss = variable(3, 2, 4, 3), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            a = ti.sin(x[i, 0, 0, 0])
            for j in range(2):
                b = a * x[i, j, 0, 0]
                for k in range(4):
                    c = b + x[i, j, k, 0] ** 2
                    for m in range(3):
                        c += ti.cos(c) * x[i, j, k, m] * 0.3
                    b = ti.sin(b + c * a)
                a = a * 0.5 + ti.sin(b)
            loss[None] += a * a

    check(run, [x], loss)


def test_sibling_inner_loops() -> None:
    x, y, loss = variable(4, 5), variable(4, 5, seed=1), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            a = 1.0
            for j in range(5):
                a *= x[i, j]
            b = ti.exp(-a)
            for j in range(5):
                b = b * y[i, j] + a
            for j in range(5):
                a += b * x[i, j] * y[i, 4 - j]
            loss[None] += ti.sin(a * b)

    check(run, [x, y], loss)


def test_sibling_loops_inside_a_loop_that_carries() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        for _ in range(1):
            state = 1.0
            for i in range(3):
                first = 0.0
                for j in range(6):
                    first += state * x[j]
                second = 1.0
                for j in range(i + 1):
                    second = second * x[j] + state
                state = ti.sin(first + second)
            loss[None] += state

    check(run, [x], loss)


def test_trip_counts_from_fields_and_arguments() -> None:
    x, loss = variable(8), scalar()
    count = ti.field(ti.i32, shape=8)
    count.from_numpy(np.array([0, 3, 1, 5, 0, 2, 7, 4], np.int32))

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            a = x[i]
            for j in range(count[i]):
                a = a * x[j] + ti.sin(a)
            for j in range(i, n):
                a += a * x[j] * 0.1
            loss[None] += a

    check(lambda: run(8), [x], loss)


def test_zero_trips() -> None:
    x, loss = variable(3), scalar()

    @ti.kernel
    def run(n: ti.i32):
        for i in range(3):
            a = x[i] * x[i]
            for _ in range(n):
                a = ti.sin(a)
            while n > 3:
                a = a * 2.0
            loss[None] += a * x[i]

    check(lambda: run(0), [x], loss)
    check(lambda: run(-4), [x], loss)


def test_an_outer_loop_without_iterations() -> None:
    x, loss = variable(3), scalar()

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            loss[None] += x[i] ** 2

    (gradient,) = check(lambda: run(0), [x], loss)
    assert (gradient == 0).all()


@pytest.mark.parametrize("trips", [1, 40, 500])
def test_long_loops(trips: int) -> None:
    x, loss = variable(2), scalar()

    @ti.kernel
    def run(n: ti.i32):
        for i in range(2):
            a = 0.3
            for j in range(n):
                a = ti.sin(a * x[i] + 0.01 * j)
            loss[None] += a

    check(lambda: run(trips), [x], loss)


def test_a_long_nest_of_loops_that_carry() -> None:
    x, loss = variable(2), scalar()

    @ti.kernel
    def run():
        for i in range(2):
            a = 0.3
            for j in range(50):
                b = a
                for k in range(j):
                    b = ti.sin(b * x[i] + 0.1 * k)
                a = 0.5 * (a + b)
            loss[None] += a

    check(run, [x], loss)


def test_a_carried_value_that_every_iteration_replaces() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run(n: ti.i32):
        for i in range(4):
            a, b = x[i] ** 2, 1.0
            for j in range(n):
                a = ti.sin(x[j])
                if j == 1:
                    b = a * x[i]
            loss[None] += a * b

    for trips in (0, 1, 3):
        check(lambda: run(trips), [x], loss)  # noqa: B023 - used at once


def test_negative_and_long_steps() -> None:
    x, loss = variable(10), scalar()

    @ti.kernel
    def run(step: ti.i32):
        for _ in range(1):
            a = 1.0
            for i in range(9, -1, -3):
                a = a * x[i] + ti.sin(a)
            for i in range(1, 10, 4):
                a = a * x[i] + ti.cos(a)
            for i in range(0, 10, step):
                a += a * x[i]
            loss[None] += a

    check(lambda: run(3), [x], loss)


def test_serialized_outer_loop() -> None:
    x, loss = variable(6), scalar()
    a = variable(7)

    @ti.kernel
    def run():
        a[0] = x[0]
        ti.loop_config(serialize=True)
        for i in range(6):
            a[i + 1] = a[i] * x[i] + ti.sin(a[i])
        loss[None] = a[6]

    check(run, [x], loss)


def test_loop_over_box_struct_and_groups() -> None:
    x, y, loss = variable(3, 4), variable(3, 4, seed=2), scalar()

    @ti.kernel
    def run():
        for i, j in x:
            loss[None] += x[i, j] * y[i, j] ** 2
        for i, j in ti.ndrange(3, (1, 4)):
            loss[None] += x[i, j - 1] * ti.sin(x[i, j])
        for p in ti.grouped(y):
            loss[None] += ti.exp(-y[p]) * x[p]

    check(run, [x, y], loss)


def test_static_loops_and_branches() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            a = x[i]
            for j in ti.static(range(4)):
                if ti.static(j % 2 == 0):
                    a = a * x[j] + 1.0
                else:
                    a += ti.sin(a)
            loss[None] += a

    check(run, [x], loss)


# while, break, continue.


def test_while_on_a_value() -> None:
    x, loss = variable(5, low=0.3, high=0.8), scalar()

    @ti.kernel
    def run():
        for i in range(5):
            a = x[i]
            while a < 10.0:
                a = a * (1.7 + 0.1 * x[i]) + ti.sin(x[i])
            loss[None] += a * a

    check(run, [x], loss)


def test_while_with_counters_inside_a_loop() -> None:
    x, loss = variable(6), scalar()

    @ti.kernel
    def run():
        for i in range(6):
            total = 0.0
            for j in range(i + 1):
                k, a = 0, x[j]
                while k < j + 2:
                    a = ti.sin(a) * x[k % 6] + a
                    k += 1
                total += a * total + a
            loss[None] += total

    check(run, [x], loss)


def test_while_in_while() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            a, n = x[i], 5
            while n > 0:
                m = n
                while m > 0:
                    a = ti.cos(a * x[i])
                    m -= 2
                a = a + x[(i + n) % 4]
                n -= 1
            loss[None] += a**2

    check(run, [x], loss)


def test_break_on_a_count_and_on_a_value() -> None:
    x, loss = variable(6, low=0.55, high=0.95), scalar()

    @ti.kernel
    def run():
        for i in range(6):
            a = 1.0
            for j in range(20):
                a = a * x[i]
                if a < 0.1:
                    break
                a += 0.01 * ti.sin(x[j % 6])
            b = 0.0
            for j in range(6):
                if j == i:
                    break
                b += x[j] * a
            loss[None] += a * b + a

    check(run, [x], loss)


def test_continue() -> None:
    x, loss = variable(8), scalar()

    @ti.kernel
    def run():
        for i in range(8):
            if i == 3:
                continue
            a = x[i]
            for j in range(8):
                if (i + j) % 3 == 0:
                    continue
                a = a * x[j] + 0.1
                if j > 5:
                    continue
                a = ti.sin(a)
            loss[None] += a

    check(run, [x], loss)


def test_break_and_continue_in_while_true() -> None:
    x, loss = variable(5), scalar()

    @ti.kernel
    def run():
        for i in range(5):
            a, k = x[i], 0
            while True:
                k += 1
                if k % 3 == 0:
                    continue
                if k > 7:
                    break
                a = a * x[k % 5] + ti.sin(a)
            loss[None] += a

    check(run, [x], loss)


@pytest.mark.cpu_code("stacks of the function")
@pytest.mark.parametrize(("most", "is_short"), [(40, True), (4000, False)])
def test_a_loop_that_is_known_to_be_short_runs_once_to_keep_its_history(
    most: int, is_short: bool
) -> None:
    x = ti.field(ti.f64, 3, needs_grad=True)
    y = ti.field(ti.f64, 3, needs_grad=True)
    x.from_numpy(np.array([1.1, 1.7, 0.9]))

    @ti.kernel
    def square_until() -> None:
        for i in x:
            a = x[i]
            for _ in range(most):
                a = a * a
                if a > 50.0 or a < 1e-3:
                    break
            y[i] = a

    square_until()
    y.grad.fill(1.0)
    square_until.grad()
    squarings = np.array([6, 3, 7])  # until 1.1^(2^k) > 50, 1.7^(2^k) > 50, 0.9^(2^k) < 0.001
    powers = 2.0**squarings
    expected = powers * np.array([1.1, 1.7, 0.9]) ** (powers - 1)
    assert np.allclose(x.grad.to_numpy(), expected, rtol=1e-10)
    derived = square_until.ir(stage="derived", mode="reverse")
    assert derived.count("scf.while") == 1
    assert derived.count("scf.for ") == (1 if is_short else 2)  # in reverse, and to keep it
    assert ("memref.alloc(" in derived) == (not is_short)
