"""Reverse mode through branches, functions and local variables, against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from gradients import check, scalar, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


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
            a = (
                x[i]
                if i > 2 and x[i] > 0
                else (x[i] * x[0] if i % 2 == 0 or x[i] < -0.5 else 2.0 * x[i] ** 3)
            )
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
            loss[None] += (
                m.determinant()
                + inverse.trace()
                + u.norm(1e-3)
                + u.normalized().outer_product(u).sum()
            )
            loss[None] += u.max() * u.min() + (u**2).sum() - ti.math.mix(u, u.yzx, 0.3).x

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
            w = [
                0.5 * (ti.Vector([1.5, 1.2]) - f) ** 2,
                0.75 - (ti.Vector([1.0, 0.3]) * f - 1.0) ** 2,
                0.5 * (ti.Vector([f, x[0]]) - 0.5) ** 2,
            ]
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
            loss[None] += (
                a + ti.cast(ti.cast(1.5, ti.f32), ti.f64) * a**2 + ti.floor(a) + int(a) * x[i]
            )

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
