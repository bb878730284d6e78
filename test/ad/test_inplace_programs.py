"""Programs of kinds that the random ones are not: in place, by arrays, templates, layouts, atomics;
against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, integers, scalar, scatter, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def vectors(n: int, *shape: int, seed: int = 0) -> Any:
    v = ti.Vector.field(n, ti.f64, shape=shape, needs_grad=True)
    scatter(v, seed=seed)
    return v


def matrices(n: int, m: int, *shape: int, seed: int = 0) -> Any:
    v = ti.Matrix.field(n, m, ti.f64, shape=shape, needs_grad=True)
    scatter(v, seed=seed)
    return v


def array(*shape: int, seed: int = 0) -> Any:
    a = ti.ndarray(ti.f64, shape=shape, needs_grad=True)
    scatter(a, seed=seed)
    return a


# Arrays as arguments.


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


# Classes and templates.


def test_a_class_with_state() -> None:
    @ti.data_oriented
    class Oscillator:
        def __init__(self, stiffness: float) -> None:
            self.stiffness = stiffness
            self.x, self.v = variable(N), variable(N, seed=1)
            self.steps = 0

        @ti.func
        def force(self, i):
            return -self.stiffness * ti.sin(self.x[i])

        @ti.kernel
        def step(self, dt: ti.f64):
            for i in self.x:
                self.v[i] += dt * self.force(i)
                self.x[i] += dt * self.v[i] * self.x[i]

        @ti.kernel
        def energy(self, loss: ti.template()):
            for i in self.x:
                loss[None] += self.v[i] ** 2 - self.stiffness * ti.cos(self.x[i])

    one, two, loss = Oscillator(2.0), Oscillator(0.5), scalar()

    def run() -> None:
        for t in range(3):
            one.step(0.1 * t)
            two.step(0.2)
        one.energy(loss)
        two.energy(loss)

    check(run, [one.x, one.v, two.x, two.v], loss)


def test_one_kernel_with_many_templates() -> None:
    x, y, z, loss = variable(N), variable(N, seed=1), variable(N, seed=2), scalar()

    @ti.kernel
    def mix(a: ti.template(), b: ti.template(), power: ti.template(), scale: ti.f64):
        for i in a:
            a[i] = (
                scale * a[i] ** power * b[N - 1 - i]
                if ti.static(a is not b)
                else scale * a[i] ** power
            )

    def run() -> None:
        mix(x, y, 2, 0.9)
        mix(y, x, 3, 0.8)
        mix(z, z, 2, 0.7)
        mix(z, x, 1, 1.1)
        mix(x, z, 2, 1.2)
        total(x, loss)
        total(y, loss)

    check(run, [x, y, z], loss)


def test_static_loops_over_fields_in_place() -> None:
    layers, loss = [variable(N, seed=s) for s in range(4)], scalar()

    @ti.kernel
    def forward():
        for k in ti.static(range(3)):
            for i in range(N):
                layers[k + 1][i] = ti.tanh(layers[k][i] * layers[k + 1][i] + layers[k][i])
        for k in ti.static(range(3)):
            for i in range(N):
                layers[k][i] *= layers[k + 1][i]

    check(lambda: (forward(), forward(), [total(f, loss) for f in layers]), layers, loss)


# Vectors and matrices of fields, in place.


def test_a_component_found_at_run_time() -> None:
    v, loss = vectors(3, N), scalar()
    axis = integers(0, 2, 1, 1, 0)

    @ti.kernel
    def turn():
        for i in v:
            k = axis[i]
            v[i][k] *= v[i][(k + 1) % 3]
            axis[i] = (k + 1) % 3
            v[i][axis[i]] = ti.sin(v[i][k]) * v[i][axis[i]]

    @ti.kernel
    def end():
        for i in v:
            loss[None] += v[i].norm_sqr() * v[i][axis[i]]

    check(lambda: (turn(), turn(), turn(), end()), [v], loss)


def test_matrices_in_place() -> None:
    m, v, loss = matrices(2, 2, N), vectors(2, N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in m:
            m[i] = m[i] @ m[i].transpose() * 0.3
            v[i] = m[i] @ v[i]
            m[i] += 0.1 * v[i].outer_product(v[i])
            m[i][0, 1], m[i][1, 0] = m[i][1, 0] * m[i][0, 0], m[i][0, 1]

    @ti.kernel
    def end():
        for i in m:
            loss[None] += m[i].determinant() + v[i].dot(m[i] @ v[i])

    check(lambda: (step(), step(), step(), end()), [m, v], loss)


def test_a_matrix_inverted_in_place_in_a_loop() -> None:
    m, loss = matrices(2, 2, 2), scalar()

    @ti.kernel
    def step():
        for i in m:
            for _ in range(3):
                m[i] = (m[i] + ti.Matrix([[2.0, 0.0], [0.0, 3.0]])).inverse() @ m[i]
            loss[None] += m[i].sum() ** 2

    check(lambda: (step(), step()), [m], loss)


def test_swizzles_and_slices_in_place() -> None:
    v, loss = vectors(3, N), scalar()

    @ti.kernel
    def step():
        for i in v:
            v[i].xy = v[i].yx * v[i].zz
            v[i].z *= v[i].x
            w = v[i] * 2.0
            w.zx += v[i].xy
            v[i] = w / w.norm()

    @ti.kernel
    def end():
        for i in v:
            loss[None] += v[i].x * v[i].y + v[i].z ** 3

    check(lambda: (step(), step(), end()), [v], loss)


# Functions.


def test_functions_with_early_returns_that_update_memory() -> None:
    x, loss = variable(N, low=0.2, high=1.8), scalar()

    @ti.func
    def inner(i, a):
        if a > 1.2:
            x[i] *= 0.5
            return a * x[i]
        for _ in range(3):
            a = a * x[i] + 0.3
            if a > 1.1:
                return a
        x[i] += a
        return -a

    @ti.func
    def outer(i):
        b = inner(i, x[i])
        if b < 0.3:
            return b * inner(i, b + 0.9)
        return inner(i, b) + b

    @ti.kernel
    def step():
        for i in x:
            loss[None] += outer(i) * x[i]

    check(lambda: (step(), step()), [x], loss)


def test_a_function_given_a_field_and_a_local() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.func
    def bump(f: ti.template(), i, amount: ti.template()):
        f[i] = f[i] * amount + ti.sin(f[i])
        amount += f[i]

    @ti.kernel
    def step():
        for i in x:
            a = y[i]
            bump(x, i, a)
            bump(y, i, a)
            bump(x, i, a)
            loss[None] += a * x[i]

    check(lambda: (step(), step()), [x, y], loss)


# Atomics.


def test_values_before_atomics_on_own_elements() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in x:
            before = ti.atomic_add(x[i], y[i] * x[i])
            old = ti.atomic_mul(y[i], before)
            low = ti.atomic_min(y[i], x[i] * 0.9)
            high = ti.atomic_sub(x[i], low * old)
            loss[None] += before * old + high * x[i] * y[i]

    check(lambda: (step(), step()), [x, y], loss)


def test_a_counter_that_gives_out_places() -> None:
    x, y, loss, count = variable(N), variable(N, seed=1), scalar(), ti.field(ti.i32, shape=())

    @ti.kernel
    def compact():
        ti.loop_config(serialize=True)
        for i in range(N):
            if x[i] > 0.9:
                k = ti.atomic_add(count[None], 1)
                y[k] = x[i] * y[k]

    @ti.kernel
    def end():
        for k in range(count[None]):
            loss[None] += y[k] ** 2 * (k + 1)

    check(lambda: (compact(), end(), compact_again(compact, x), total(y, loss)), [x, y], loss)


def compact_again(compact: Any, x: Any) -> None:
    x[0] = 0.1
    x[1] = 0.2
    x[2] = 0.3
    x[3] = 0.1
    x[4] = 0.0
    compact()


def test_a_histogram_read_while_it_is_reused() -> None:
    x, bins, loss = variable(8), variable(3), scalar()

    @ti.kernel
    def fill():
        for j in bins:
            bins[j] = 0.0
        for i in x:
            bins[ti.cast(x[i] * 2.0, ti.i32) % 3] += x[i] * x[i]
        for i in x:
            x[i] /= 1.0 + bins[ti.cast(x[i] * 2.0, ti.i32) % 3]

    check(lambda: (fill(), fill(), total(x, loss), total(bins, loss)), [x], loss)


def test_atomics_on_locals() -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step():
        for i in x:
            s, m = x[i], 0.2
            for j in range(4):
                before = ti.atomic_add(s, x[(i + j) % N] * s)
                ti.atomic_max(m, before)
                ti.atomic_mul(s, 0.5 + m)
            loss[None] += s * m

    check(step, [x], loss)


# Integers as indices, changed on the way.


def test_indices_that_the_host_changes_between_launches() -> None:
    x, loss, order = variable(N), scalar(), integers(0, 1, 2, 3, 4)

    @ti.kernel
    def gather():
        ti.loop_config(serialize=True)
        for i in range(N):
            x[order[i]] = ti.sin(x[order[i]] * x[order[(i + 1) % N]])

    def run() -> None:
        gather()
        order.from_numpy(np.array([4, 4, 0, 1, 3], np.int32))
        gather()
        order[2] = 3
        gather()
        order.fill(2)
        total(x, loss)

    check(run, [x], loss)


def test_a_permutation_applied_to_itself() -> None:
    x, loss, order = variable(N), scalar(), integers(2, 0, 3, 4, 1)

    @ti.kernel
    def step():
        ti.loop_config(serialize=True)
        for i in range(N):
            x[i] *= x[order[i]]
            order[i] = order[order[i]]

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_bits_in_conditions_and_indices() -> None:
    x, loss, flags = variable(N), scalar(), integers(5, 2, 7, 0, 12)

    @ti.kernel
    def step():
        for i in x:
            if (flags[i] & 1) ^ ((flags[i] >> 1) & 1):
                x[i] *= x[i]
            elif ~flags[i] & 4:
                x[i] = ti.sin(x[i])
            flags[i] = (flags[i] << 1 | flags[i] >> 2) & 15

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


def test_integer_division_and_remainders_of_state() -> None:
    x, loss, k = variable(N), scalar(), integers(7, -3, 4, 9, -8)

    @ti.kernel
    def step():
        for i in x:
            j = k[i] // 2 % N
            for _ in range(ti.abs(k[i]) % 3):
                x[i] = x[i] * 0.9 + ti.sin(x[i] * j)
            k[i] = k[i] * 3 - j

    check(lambda: (step(), step(), step(), total(x, loss)), [x], loss)


# Precisions, offsets, layouts.


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


# Ranges.


def test_grouped_boxes_in_place() -> None:
    x, loss = variable(4, 4), scalar()

    @ti.kernel
    def step():
        for p in ti.grouped(ti.ndrange((1, 3), (0, 4))):
            x[p] *= x[p] + 0.2
        for i, j in ti.ndrange(4, 4):
            if i > j:
                x[i, j] = ti.sin(x[i, j]) * x[i, j]
        for p in ti.grouped(x):
            x[p] = 0.9 * x[p] * x[p] + 0.1 * p[0]

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


@pytest.mark.parametrize("bounds", [(4, -1, -1), (4, 0, -2), (0, 5, 2), (3, 3, 1), (4, 1, 1)])
def test_ranges_known_at_run_time(bounds: tuple[int, int, int]) -> None:
    x, loss = variable(N), scalar()

    @ti.kernel
    def step(a: ti.i32, b: ti.i32, s: ti.i32):
        for _ in range(1):
            for i in range(a, b, s):
                x[i] = x[i] * x[(i + 2) % N] + 0.1 * ti.sin(x[i])

    check(lambda: (step(*bounds), step(*bounds), total(x, loss)), [x], loss)


def test_a_bound_that_the_loop_itself_changes() -> None:
    x, loss, n = variable(N), scalar(), integers(3, 1, 0, 2, 4)

    @ti.kernel
    def step():
        for i in x:
            for j in range(n[i]):
                x[i] *= 0.9 + 0.1 * j
                n[i] += 1
                x[i] = ti.sin(x[i]) * n[i]

    check(lambda: (step(), total(x, loss)), [x], loss)


def test_reads_behind_a_break() -> None:
    x, y, loss = variable(N), variable(N, seed=1), scalar()

    @ti.kernel
    def step():
        for i in x:
            last = 0
            for j in range(N):
                y[i] *= 0.6 + x[j]
                last = j
                if y[i] > 1.5:
                    y[i] = ti.sin(y[i])
                    break
                x_j = x[j]
                y[i] += x_j * x_j
            loss[None] += y[i] * x[last] + x[(last + 1) % N]

    check(lambda: (step(), step()), [x, y], loss)


def test_continue_over_updates() -> None:
    x, loss, k = variable(N), scalar(), integers(0, 1, 2, 3, 4)

    @ti.kernel
    def step():
        for i in x:
            j = 0
            while True:
                j += 1
                k[i] = (k[i] + j) % 5
                if k[i] == 3:
                    continue
                x[i] = x[i] * 0.7 + ti.sin(x[i] * k[i])
                if j > 4 or x[i] > 1.4:
                    break

    check(lambda: (step(), step(), total(x, loss)), [x], loss)


def test_loops_that_run_not_at_all() -> None:
    x, loss, n = variable(N), scalar(), integers(0, 0, 0, 0, 0)

    @ti.kernel
    def step(m: ti.i32):
        for i in x:
            a = x[i]
            for _ in range(n[i]):
                x[i] = a * 7.0
                for _ in range(m):
                    a *= a
            while n[i] > 0:
                n[i] -= 1
                x[i] *= x[i]
            x[i] *= a
        for i in range(m):
            x[i] = 0.0

    check(lambda: (step(0), n.fill(1), step(0), n.fill(0), step(2), total(x, loss)), [x], loss)


# Serial recurrences and aliasing within one field.


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
