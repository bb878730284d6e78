"""Reverse mode and what kernels are given: arguments, layouts; and `kernel.grad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import check, scalar, scatter, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")


def test_ndarray_arguments() -> None:
    x = ti.ndarray(ti.f64, shape=(4, 5), needs_grad=True)
    v = ti.Vector.ndarray(3, ti.f64, shape=4, needs_grad=True)
    loss = ti.ndarray(ti.f64, shape=(), needs_grad=True)
    scatter(x)
    scatter(v, seed=2)
    weights = np.linspace(0.1, 1.0, 5)

    @ti.kernel
    def run(
        a: ti.types.ndarray(), b: ti.types.ndarray(), w: ti.types.ndarray(), out: ti.types.ndarray()
    ):
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
        (gradient,) = check(lambda: spring.run(4), [spring.x], spring.energy)  # noqa: B023 - used at once
        x = spring.x.to_numpy()
        stretch = np.diff(x)
        np.testing.assert_allclose(
            gradient, spring.stiffness * (np.r_[0, stretch] - np.r_[stretch, 0]), rtol=1e-12
        )


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
