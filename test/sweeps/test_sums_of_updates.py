"""Locals that a parallel loop sums up of elements which it overwrites: what the sum is needed for
finds the elements as they were at each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradients import array, check, integers, scalar, variable

import mlirad as ti

N = 4


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(default_fp=ti.f64)


def _twice(x: Any, w: Any, loss: Any) -> Any:
    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            w[i] = w[i] * w[i] * x[i]
            s += w[i] ** 2 * x[i]
        loss[None] += s * s

    return run


def _cleared(x: Any, w: Any, loss: Any) -> Any:
    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            w[i] += x[i] ** 2
            s += w[i] ** 2 * x[i]
            w[i] = 0.0
        for i in x:
            loss[None] += s * s * x[i]

    return run


def _inner_loop(x: Any, w: Any, loss: Any) -> Any:
    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            for k in range(3):
                w[i] = ti.sin(w[i] * x[i]) + 0.1 * k
                if k != 1:
                    s += w[i] ** 2 * x[i]
        loss[None] += ti.exp(-s)

    return run


def _while(x: Any, w: Any, loss: Any) -> Any:
    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            k = 0
            while w[i] < 3.0 and k < 9:
                w[i] = w[i] * 1.2 + x[i] * w[i] ** 2
                s += w[i] * x[i]
                k += 1
        loss[None] += s * s

    return run


def _counters(x: Any, w: Any, loss: Any) -> Any:
    count = integers(2, 0, 1, 3)

    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            count[i] += 1
            w[i] *= x[i] ** 2
            for _k in range(count[i] % 3):
                s += w[i] ** 2
                w[i] = w[i] * w[i]
            count[i] = 0
        loss[None] += s * s

    def whole() -> None:
        count.from_numpy(np.array([2, 0, 1, 3], np.int32))
        run()

    return whole


def _two_sums(x: Any, w: Any, loss: Any) -> Any:
    @ti.kernel
    def run():
        s = 0.0
        for i in x:
            w[i] *= w[i] + x[i]
            s += w[i] ** 2
        t = 1.0
        for i in x:
            t += ti.sin(s * x[i])
        for i in x:
            loss[None] += s * t * x[i]

    return run


KERNELS = [_twice, _cleared, _inner_loop, _while, _counters, _two_sums]


@pytest.mark.parametrize("make", KERNELS, ids=lambda make: make.__name__[1:])
def test_fields(make: Any) -> None:
    x, w, loss = variable(N, seed=1), variable(N, seed=2), scalar()
    check(make(x, w, loss), [x, w], loss)


def test_an_array() -> None:
    x, w, loss = variable(N, seed=1), array(N, seed=2), scalar()

    @ti.kernel
    def run(a: ti.types.ndarray()):
        s = 0.0
        for i in x:
            a[i] = a[i] * a[i] * x[i]
            s += a[i] ** 2 * x[i]
        loss[None] += s * s

    check(lambda: run(w), [x, w], loss)


def test_second_derivatives() -> None:
    x, w, loss = variable(N, seed=1), variable(N, seed=2), scalar()
    run = _cleared(x, w, loss)
    values, direction = x.to_numpy(), np.arange(1.0, 1.0 + N)
    start = w.to_numpy()

    def gradient(h: float) -> Any:
        w.from_numpy(start)
        x.from_numpy(values + h * direction)
        with ti.ad.Tape(loss):
            run()
        return x.grad.to_numpy()

    h = 2.0**-13
    slopes = 8 * (gradient(h) - gradient(-h)) - (gradient(2 * h) - gradient(-2 * h))
    w.from_numpy(start)
    x.from_numpy(values)
    np.testing.assert_allclose(ti.ad.hvp(run, loss, x, direction), slopes / (12 * h), rtol=1e-7)
