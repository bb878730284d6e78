"""`x.grad` of an array argument inside a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")

ARRAY = ti.types.ndarray(ti.f64, 1)
N = 6


def array(first: float, *, needs_grad: bool = True) -> Any:
    found = ti.ndarray(ti.f64, N, needs_grad=needs_grad)
    found.from_numpy(np.arange(first, first + N))
    return found


@ti.kernel
def descend(unused: ti.types.ndarray(), x: ARRAY, rate: ti.f64, y: ARRAY):  # type: ignore
    for i in x:
        x[i] -= rate * x.grad[i] * y[i]
        x.grad[i] = 0.0


def test_a_step_along_it() -> None:
    x, y, loss = array(1.0), array(2.0), ti.ndarray(ti.f64, (), needs_grad=True)

    @ti.kernel
    def cost(x: ARRAY, loss: ti.types.ndarray()):  # type: ignore
        for i in x:
            loss[None] += x[i] ** 2

    start = x.to_numpy()
    for _ in range(2):
        with ti.ad.Tape(loss):
            cost(x, loss)
        descend(y, x, 0.125, y)
        start -= 0.125 * 2 * start * y.to_numpy()
        assert x.to_numpy() == pytest.approx(start)
        assert not x.grad.to_numpy().any()


def test_random_numbers_and_functions_beside_it() -> None:
    x, y = array(1.0), array(3.0)

    @ti.func
    def scaled(a, i):
        return 2.0 * a.grad[i]

    @ti.kernel
    def run(x: ARRAY, y: ARRAY) -> ti.f64:  # type: ignore
        total = 0.0
        for i in y.grad:
            y.grad[i] += scaled(x, i) + 0.0 * ti.random(ti.f64)
            total += y.grad[i]
        return total

    x.grad.fill(0.5)
    y.grad.fill(1.0)
    assert run(x, y) == pytest.approx(2.0 * N)
    np.testing.assert_array_equal(y.grad.to_numpy(), np.full(N, 2.0))
    assert run(x, x) == pytest.approx(1.5 * N)


def test_vectors() -> None:
    x = ti.Vector.ndarray(2, ti.f64, 3, needs_grad=True)
    x.grad.from_numpy(np.arange(6.0).reshape(3, 2))

    @ti.kernel
    def copy(x: ti.types.ndarray()):  # type: ignore
        for i in x:
            x[i] = x.grad[i] + ti.Vector([1.0, 0.0])
            x.grad[i][1] = 9.0

    copy(x)
    np.testing.assert_array_equal(x.to_numpy(), [[1, 1], [3, 3], [5, 5]])
    np.testing.assert_array_equal(x.grad.to_numpy(), [[0, 9], [2, 9], [4, 9]])


def test_a_given_gradient() -> None:
    x, y, loss = array(1.0), array(0.0), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def forward(x: ARRAY, y: ARRAY):  # type: ignore
        for i in x:
            y[i] = ti.exp(x[i])

    @ti.kernel
    def backward(x: ARRAY, y: ARRAY):  # type: ignore
        for i in x:
            x.grad[i] += y[i] * y.grad[i]

    @ti.kernel
    def total(y: ARRAY):  # type: ignore
        for i in y:
            loss[None] += y[i]

    call = ti.ad.grad_replaced(forward.__call__)
    ti.ad.grad_for(call)(backward)
    with ti.ad.Tape(loss):
        call(x, y)
        total(y)
    assert x.grad.to_numpy() == pytest.approx(np.exp(x.to_numpy()))


def test_errors() -> None:
    x, y = array(1.0), array(2.0, needs_grad=False)
    with pytest.raises(ti.TaichiTypeError, match=r"passed as 'x' has no gradient here"):
        descend(x, y, 1.0, x)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"y is the gradient of x.*x\.grad"):
        descend(y, x, 1.0, x.grad)

    @ti.kernel
    def cut(x: ti.types.ndarray(ti.f64, 1, needs_grad=False)):  # type: ignore
        x.grad[0] = 1.0

    with pytest.raises(ti.TaichiTypeError, match="with needs_grad=False"):
        cut(x)
    loss = ti.field(ti.f64, (), needs_grad=True)
    with (
        pytest.raises(ti.TaichiCompilationError, match=r"use it in a kernel of its own"),
        ti.ad.Tape(loss),
    ):
        descend(y, x, 1.0, array(0.0))
