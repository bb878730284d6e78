"""Reverse mode through every kind of control flow, local and memory access, against finite differences."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, names_both, scalar, scatter, variable

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

    gradient, = check(lambda: run(0), [x], loss)
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
            loss[None] += a ** 2

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


# Branches and functions.

def test_branches_in_and_around_loops() -> None:
    x, loss = variable(9, low=-1.0, high=1.0, seed=3), scalar()

    @ti.kernel
    def run():
        for i in range(9):
            a = x[i] * x[i]
            if i < 2:
                a = ti.sin(a)
            elif i < 5:
                for j in range(i):
                    if j % 2 == 0:
                        a = a * 0.7 + x[j]
                    else:
                        a -= x[j] ** 2
            elif i == 6:
                a += 1.0
            else:
                b = a * x[i]
                a = b * b if x[i] > 0 else b - x[i - 1]
            if a > -100.0:
                loss[None] += a
            else:
                loss[None] -= x[0]

    check(run, [x], loss)


def test_ternaries_and_boolean_operators() -> None:
    x, loss = variable(6, low=-1.0, high=1.0, seed=5), scalar()

    @ti.kernel
    def run():
        for i in range(6):
            a = x[i] if i > 2 and x[i] > 0 else (x[i] * x[0] if i % 2 == 0 or x[i] < -0.5 else 2.0 * x[i] ** 3)
            b = ti.select(i < 3, a * a, a + x[5])
            loss[None] += b if not (0 < i <= 2) else ti.max(a, 3.0 * b)

    check(run, [x], loss)


def test_a_function_with_several_returns() -> None:
    x, loss = variable(8, low=-2.0, high=2.0), scalar()

    @ti.func
    def bump(v, k: int):
        if k == 0:
            return v * v
        if v > 0.5:
            for j in range(5):
                v = v * 0.9 + x[j] * 0.1
                if j == k:
                    return ti.sin(v)
            return v + 1.0
        return -v

    @ti.kernel
    def run():
        for i in range(8):
            loss[None] += bump(x[i], i % 4) * bump(x[i] * 2.0, 0)

    check(run, [x], loss)


def test_functions_of_vectors_and_templates() -> None:
    x, loss = variable(6), scalar()

    @ti.func
    def rotate(v, angle):
        c, s = ti.cos(angle), ti.sin(angle)
        return ti.Matrix([[c, -s], [s, c]]) @ v

    @ti.func
    def apply(f: ti.template(), v):
        return f(v, v[0] * v[1])

    @ti.kernel
    def run(source: ti.template(), n: ti.i32):
        for i in range(n):
            v = ti.Vector([source[i], source[i + 1]])
            loss[None] += apply(rotate, v)[0] * v.norm()

    check(lambda: run(x, 5), [x], loss)


# Locals.

def test_integers_carried_as_indices() -> None:
    a, b, loss = variable(30), variable(30, seed=1), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            p, q = i, 1
            total = 0.0
            for _ in range(6):
                p, q = q, p + q
                total += a[q] * b[p] ** 2
            loss[None] += total * total

    check(run, [a, b], loss)


def test_integer_weights_and_bits() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            weight, mask = 1, 0
            for j in range(4):
                loss[None] += weight * x[j] * ti.cast(mask & 3, ti.f64) * x[i]
                weight *= 3
                mask = (mask << 1) ^ (j + i)

    check(run, [x], loss)


def test_vectors_and_matrices_carried() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            v = ti.Vector([x[i], 1.0, 0.5])
            m = ti.Matrix.identity(ti.f64, 3)
            for j in range(4):
                m = m @ ti.Matrix([[0.9, x[j], 0.0], [-x[j], 0.8, 0.1], [0.2, 0.0, x[i]]])
                v = m @ v + v * x[j]
                v[1] = v[0] * v[2]
                v.xz *= 0.5
            loss[None] += v.dot(v) + m.trace() * m.determinant() + v.cross(m[0, :])[1]

    check(run, [x], loss)


def test_matrix_algebra() -> None:
    x, loss = variable(4, 3, 3, low=-1.0, high=1.0), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            m = ti.Matrix.zero(ti.f64, 3, 3)
            for j, k in ti.static(ti.ndrange(3, 3)):
                m[j, k] = x[i, j, k] + 3.0 * (1.0 if j == k else 0.0)
            inverse = m.inverse() @ m.transpose()
            u = inverse @ ti.Vector([1.0, 2.0, 3.0])
            loss[None] += m.determinant() + inverse.trace() + u.norm(1e-3) + u.normalized().outer_product(u).sum()
            loss[None] += u.max() * u.min() + (u ** 2).sum() - ti.math.mix(u, u.yzx, 0.3).x

    check(run, [x], loss)


def test_swaps() -> None:
    x, loss = variable(5), scalar()

    @ti.kernel
    def run():
        for i in range(5):
            a, b, c = x[i], x[0], 1.0
            for j in range(5):
                a, b, c = b * x[j], c + a, ti.sin(a)
                if j % 2:
                    a, b = b, a
            loss[None] += a * b - c

    check(run, [x], loss)


def test_dynamic_indices_into_local_vectors() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run():
        for i in range(4):
            v = ti.Vector([1.0, 2.0, 3.0, 4.0])
            for j in range(9):
                v[j % 4] = v[(j + 1) % 4] * x[(i + j) % 4]
                v[(j * 3) % 4] += x[i] * v[j % 4]
                v[(j + 2) % 4] *= 0.5 + 0.1 * x[j % 4]
            loss[None] += v[i] + v.dot(v)

    check(run, [x], loss)


def test_dynamic_indices_into_local_matrices() -> None:
    x, loss = variable(3), scalar()

    @ti.kernel
    def run():
        for i in range(3):
            m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            for j, k in ti.ndrange(2, 2):
                m[j, k] = m[k, j] * x[(i + j + k) % 3] + m[j, 1 - k]
            for j in range(2):
                m[j, i % 2] += ti.sin(m[1 - j, j])
            loss[None] += m.determinant() + m[i % 2, 0]

    check(run, [x], loss)


def test_local_lists_of_vectors() -> None:
    x, loss = variable(5), scalar()

    @ti.kernel
    def run():
        for i in range(5):
            f = x[i] - 0.1
            w = [0.5 * (ti.Vector([1.5, 1.2]) - f) ** 2, 0.75 - (ti.Vector([1.0, 0.3]) * f - 1.0) ** 2,
                 0.5 * (ti.Vector([f, x[0]]) - 0.5) ** 2]
            for j, k in ti.static(ti.ndrange(3, 3)):
                loss[None] += w[j][0] * w[k].y * x[(i + j + k) % 5]

    check(run, [x], loss)


def test_casts_between_floats() -> None:
    x, loss = variable(4), scalar()
    h = ti.field(ti.f32, shape=4, needs_grad=True)

    @ti.kernel
    def run():
        for i in range(4):
            h[i] = ti.cast(0.0, ti.f32)
            a = x[i]
            for j in range(3):
                a = a * x[j]
            loss[None] += a + ti.cast(ti.cast(1.5, ti.f32), ti.f64) * a ** 2 + ti.floor(a) + int(a) * x[i]

    check(run, [x], loss)


def test_derivatives_through_f32() -> None:
    x = variable(3)
    h, loss = ti.field(ti.f32, shape=3, needs_grad=True), scalar(ti.f32)

    @ti.kernel
    def run():
        for i in range(3):
            a = ti.cast(x[i], ti.f32)
            for j in range(3):
                a = ti.cast(ti.sin(ti.cast(a, ti.f64) * x[j]), ti.f32)
            h[i] = a
        for i in range(3):
            loss[None] += h[i] * h[i]

    with ti.ad.Tape(loss):
        run()
    v = x.to_numpy()
    expected = np.zeros(3)
    for i in range(3):
        values = [v[i]]
        for j in range(3):
            values.append(np.sin(values[-1] * v[j]))
        adjoint = 2 * values[3]
        for j in reversed(range(3)):
            slope = np.cos(values[j] * v[j])
            expected[j] += adjoint * slope * values[j]
            adjoint *= slope * v[j]
        expected[i] += adjoint
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=2e-6)


# Kernels of several parts.

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

    gradient, = check(run, [x], loss)
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


# Arguments, layouts, and the interface.

def test_ndarray_arguments() -> None:
    x = ti.ndarray(ti.f64, shape=(4, 5), needs_grad=True)
    v = ti.Vector.ndarray(3, ti.f64, shape=4, needs_grad=True)
    loss = ti.ndarray(ti.f64, shape=(), needs_grad=True)
    scatter(x)
    scatter(v, seed=2)
    weights = np.linspace(0.1, 1.0, 5)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), w: ti.types.ndarray(), out: ti.types.ndarray()):
        for i, j in a:
            out[None] += ti.sin(a[i, j]) * w[j] * b[i].norm() * b[i][j % 3]

    x.grad.fill(0)
    check_ndarrays(lambda: run(x, v, weights, loss), [x, v], loss)


def check_ndarrays(run: Any, inputs: list[Any], loss: Any) -> None:
    """`check`, where a tape does not clear gradients: those of ndarrays belong to the caller."""
    check(run, inputs, loss)
    for array in [*inputs, loss]:
        array.grad.fill(0)


def test_an_ndarray_declared_without_gradient() -> None:
    x = ti.ndarray(ti.f64, shape=3, needs_grad=True)
    y, loss = variable(3), scalar()
    scatter(x)

    @ti.kernel
    def run(a: ti.types.ndarray(needs_grad=False)):
        for i in range(3):
            loss[None] += a[i] ** 2 * y[i]

    check(lambda: run(x), [y], loss)
    assert (x.grad.to_numpy() == 0).all()


def test_scalar_and_matrix_arguments() -> None:
    x, loss = variable(4), scalar()

    @ti.kernel
    def run(scale: ti.f64, shift: ti.types.vector(2, ti.f64), n: ti.i32):
        for i in range(n):
            loss[None] += (x[i] * scale + shift[i % 2]) ** 2

    check(lambda: run(1.5, ti.Vector([0.1, 0.2]), 4), [x], loss)


def test_data_oriented_methods() -> None:
    @ti.data_oriented
    class Spring:
        def __init__(self, stiffness: float) -> None:
            self.stiffness = stiffness
            self.x, self.energy = variable(5), scalar()

        @ti.func
        def stretch(self, i):
            return self.x[i + 1] - self.x[i]

        @ti.kernel
        def run(self, n: ti.i32):
            for i in range(n):
                self.energy[None] += 0.5 * self.stiffness * self.stretch(i) ** 2

    for spring in (Spring(2.0), Spring(3.0)):
        gradient, = check(lambda: spring.run(4), [spring.x], spring.energy)  # noqa: B023 - used at once
        x = spring.x.to_numpy()
        stretch = np.diff(x)
        np.testing.assert_allclose(gradient, spring.stiffness * (np.r_[0, stretch] - np.r_[stretch, 0]), rtol=1e-12)


def test_matrix_fields_written_by_component() -> None:
    x, loss = variable(4), scalar()
    v = ti.Vector.field(3, ti.f64, shape=4, needs_grad=True)
    m = ti.Matrix.field(2, 2, ti.f64, shape=4, needs_grad=True)
    scatter(v)
    scatter(m, seed=1)

    @ti.kernel
    def run():
        for i in x:
            v[i][0] = ti.sin(x[i])
            v[i].y = x[i] * x[(i + 1) % 4]
            for j, k in ti.ndrange(2, 2):
                m[i][j, k] += x[i] * (j + 2 * k)
            m[i][0, 1] = 0.5
        for i in x:
            loss[None] += v[i].norm_sqr() * m[i].determinant() + (m[i] @ v[i].xz)[i % 2]

    check(run, [x, v, m], loss)


def test_several_fields_in_one_block_and_nested_blocks() -> None:
    x, y, loss = (ti.field(ti.f64, needs_grad=True) for _ in range(3))
    v = ti.Vector.field(2, ti.f64, needs_grad=True)
    block = ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (2, 2))
    block.place(x, v, y)
    ti.root.place(loss)
    for number, f in enumerate((x, y, v)):
        scatter(f, seed=number)

    @ti.kernel
    def run():
        for i, j in x:
            loss[None] += x[i, j] * y[3 - i, j] * v[i, 5 - j].dot(ti.Vector([1.0, x[i, j]]))

    check(run, [x, y, v], loss)


def test_offsets() -> None:
    x = ti.field(ti.f64, shape=(4, 4), offset=(-2, 3), needs_grad=True)
    scatter(x)
    loss = scalar()

    @ti.kernel
    def run():
        for i, j in x:
            if i > -2:
                loss[None] += x[i, j] * x[i - 1, j] ** 2
        loss[None] += x[-2, 6] ** 3

    check(run, [x], loss)


def test_kernel_grad_accumulates_and_needs_no_forward_run() -> None:
    x, y = variable(4), variable(4)

    @ti.kernel
    def run(scale: ti.f64):
        for i in x:
            y[i] += scale * x[i] ** 2

    y.grad.fill(1.0)
    run.grad(2.0)
    np.testing.assert_allclose(x.grad.to_numpy(), 4 * x.to_numpy())
    run.grad(2.0)
    run.grad(0.5)
    np.testing.assert_allclose(x.grad.to_numpy(), 9 * x.to_numpy())
    np.testing.assert_array_equal(y.grad.to_numpy(), np.ones(4))


def test_a_stored_adjoint_is_consumed() -> None:
    x, y = variable(4), variable(4)

    @ti.kernel
    def run():
        for i in x:
            y[i] = 3.0 * x[i]

    y.grad.fill(1.0)
    run.grad()
    run.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), np.full(4, 3.0))
    np.testing.assert_array_equal(y.grad.to_numpy(), np.zeros(4))


def test_two_losses_by_kernel_grad() -> None:
    x, first, second = variable(6), scalar(), scalar()

    @ti.kernel
    def run():
        for i in x:
            first[None] += x[i] ** 2
            second[None] += ti.sin(x[i])

    run()
    first.grad[None], second.grad[None] = 1.0, 0.5
    run.grad()
    v = x.to_numpy()
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * v + 0.5 * np.cos(v))


def test_a_kernel_without_derivatives_under_a_tape() -> None:
    x, loss = variable(3), scalar()
    count = ti.field(ti.i32, shape=3)

    @ti.kernel
    def prepare():
        for i in count:
            count[i] = i + 1

    @ti.kernel
    def measure():
        for i in x:
            for _ in range(count[i]):
                loss[None] += x[i] ** 2

    def run() -> None:
        prepare()
        measure()

    check(run, [x], loss)


def test_early_return_from_a_kernel_value() -> None:
    x, loss = variable(3), scalar()

    @ti.kernel
    def run() -> ti.f64:
        total = 0.0
        for i in range(3):
            loss[None] += x[i] ** 2
            total += x[i]
        return total

    assert run() == pytest.approx(x.to_numpy().sum())
    check(run, [x], loss)
