"""Kernels of several loops that overwrite what their gradients need, and pass locals from loop to
loop."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from gradients import array, check, integers, scalar, total, variable

import mlirad as ti

pytestmark = pytest.mark.usefixtures("f64")
N = 5


def kernels(x: Any, y: Any, n: Any) -> dict[str, Any]:
    """What is differentiated in x and y."""

    @ti.kernel
    def softmax():
        s = 0.0
        for i in x:
            x[i] = ti.exp(x[i])
        for i in x:
            s += x[i]
        for i in x:
            x[i] /= s

    @ti.kernel
    def normalised():
        mean, square = 0.0, 0.0
        for i in x:
            x[i] = ti.tanh(x[i])
        for i in x:
            mean += x[i] / N
        for i in x:
            square += (x[i] - mean) ** 2
        scale = ti.rsqrt(square / N + 1e-2)
        for i in x:
            x[i] = (x[i] - mean) * scale
        for i in x:
            y[i] += x[i] * y[i]

    @ti.kernel
    def residual():
        s = 0.0
        for i in range(N):
            s = 0.5 * s + ti.sin(x[i])
            y[i] *= s
        t = s * y[N - 1]
        y[N - 1] = 0.25
        for i in x:
            x[i] = x[i] * t + y[i]
        for i in x:
            y[i] = x[i] ** 2 * s

    @ti.kernel
    def counted():
        above, largest = 0, -1.0
        for i in x:
            if x[i] > 1.0:
                above += 1
            ti.atomic_max(largest, x[i])
        for i in x:
            x[i] = x[i] ** 2 / (1 + above)
        flag = largest > 1.0
        last = ti.cast(largest, ti.i32) + 2
        for i in range(last):
            x[i] = ti.sin(x[i]) * y[i] if flag else 0.0
        for i in x:
            y[i] = x[i] * above

    @ti.kernel
    def vectors():
        centre = ti.Vector([0.0, 0.0])
        for i in x:
            x[i] = x[i] ** 2
        for i in x:
            centre += ti.Vector([x[i], y[i] * x[i]])
        for i in x:
            x[i] -= centre.dot(ti.Vector([0.25, y[i]]))
        for i in x:
            y[i] *= x[i] * centre.y

    @ti.kernel
    def bounds():
        end = n[0]
        for i in range(end):
            x[i] = ti.sin(x[i])
        n[0] = 2
        for i in range(end):
            x[i] *= x[i] * end / 8
        slot = ti.atomic_add(n[0], 1)
        for i in range(end):
            x[i] = ti.sin(x[i]) + slot
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def returning() -> ti.f64:
        s = 0.0
        for i in x:
            x[i] = ti.exp(x[i])
        for i in x:
            s += x[i]
        for i in x:
            x[i] /= s
        return s

    found = [softmax, normalised, residual, counted, vectors, bounds, returning]
    return {one.__name__: one for one in found}


NAMES = ["softmax", "normalised", "residual", "counted", "vectors", "bounds", "returning"]


@pytest.mark.filterwarnings("ignore:.*returns")
@pytest.mark.parametrize("name", NAMES)
def test_locals_go_from_loop_to_loop(name: str) -> None:
    x, y, n, loss = variable(N), variable(N, seed=1), integers(5, 0), scalar()
    run = kernels(x, y, n)[name]

    def program() -> None:
        n[0] = N
        run()
        run()
        total(x, loss)
        total(y, loss)

    check(program, [x, y], loss)


def test_every_way_to_keep_memory() -> None:
    """Gradients with all kept, within few bytes, of steps that are done again, and of a second
    sweep are alike; second derivatives are slopes of these."""
    x, y, loss = variable(N), variable(N, seed=1), scalar()
    step = kernels(x, y, integers(0))["normalised"]
    start = [x.to_numpy(), y.to_numpy()]

    def gradient(values: Any, *, steps: Any = range(3), **options: Any) -> Any:
        x.from_numpy(values[0])
        y.from_numpy(values[1])
        with ti.ad.Tape(loss, **options) as tape:
            for _ in steps() if callable(steps) else steps:
                step()
            total(x, loss)
            total(y, loss)
        found = np.stack([x.grad.to_numpy(), y.grad.to_numpy()])
        tape.grad()
        np.testing.assert_array_equal(np.stack([x.grad.to_numpy(), y.grad.to_numpy()]), found)
        return found

    def checkpointed() -> Any:
        return ti.ad.checkpointed(range(3), state=[x, y], snapshots=1)

    expected = gradient(start)
    for options in ({"memory": 0.5}, {"anomaly": True}, {"steps": checkpointed}):
        np.testing.assert_allclose(gradient(start, **options), expected, rtol=1e-13)

    def program() -> None:
        for _ in range(3):
            step()
        total(x, loss)
        total(y, loss)

    v = np.random.default_rng(2).uniform(-1, 1, (2, N))
    x.from_numpy(start[0])
    y.from_numpy(start[1])
    loss[None] = 0.0
    products = np.stack(ti.ad.hvp(program, loss=loss, wrt=[x, y], v=[*v]))
    h = 2.0**-17
    slope = (gradient(start + h * v) - gradient(start - h * v)) / (2 * h)
    np.testing.assert_allclose(products, slope, rtol=1e-6, atol=1e-7)


def test_ndarrays_and_numpy_arrays() -> None:
    loss = scalar()

    @ti.kernel
    def softmax(a: ti.types.ndarray(), b: ti.types.ndarray()):
        s = 0.0
        for i in a:
            a[i] = ti.exp(a[i])
        for i in a:
            s += a[i]
        for i in a:
            a[i] *= b[i] / s

    @ti.kernel
    def weighed(a: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i] ** 2 * (i + 1)

    a, b = array(N), np.linspace(0.5, 1.5, N)
    values, weights = a.to_numpy(), 2.0 * np.arange(1, N + 1)
    with ti.ad.Tape(loss):
        softmax(a, b)
        weighed(a)
    p = np.exp(values) / np.exp(values).sum()
    slope = weights * p * b * b
    np.testing.assert_allclose(a.grad.to_numpy(), p * (slope - (slope * p).sum()), rtol=1e-12)


def test_a_kernel_in_two_threads_at_once() -> None:
    @ti.kernel
    def softmax(a: ti.types.ndarray(), total: ti.types.ndarray()):
        s = 0.0
        for i in a:
            a[i] = ti.exp(a[i])
        for i in a:
            s += a[i]
        for i in a:
            a[i] /= s
        for i in a:
            total[None] += a[i] ** 2

    def work(number: int) -> bool:
        a, loss = (ti.ndarray(ti.f64, shape, needs_grad=True) for shape in (N, ()))
        values = np.random.default_rng(number).uniform(0.5, 1.5, N)
        p = np.exp(values) / np.exp(values).sum()
        right = True
        for _ in range(8):
            a.from_numpy(values)
            loss.fill(0.0)
            with ti.ad.Tape(loss) as tape:
                softmax(a, loss)
            right &= np.allclose(a.grad.to_numpy(), 2 * p * (p - (p * p).sum()), rtol=1e-12)
            del tape
        return right

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))


@pytest.mark.filterwarnings("ignore:.*has no (gradient|dual), but carries")
@pytest.mark.parametrize("memory", [None, 0.5])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_local_passes_a_derivative_to_a_field_without_gradient(
    count: int, memory: float | None
) -> None:
    """The part that reads the local gives the field its gradient before anything is kept."""
    ti.init(default_fp=ti.f64)
    x, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (3, ()))
    y = ti.field(ti.f64, 3)

    @ti.kernel
    def step():
        total = 0.0
        for i in range(3):
            total += x[i]
        ti.loop_config(serialize=True)
        for i in range(3):
            x[i] *= y[i]
            y[i] -= ti.sin(total)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] ** 2

    def begin(start: Any) -> None:
        x.from_numpy(start)
        y.fill(0.4)
        loss[None] = 0.0

    def run() -> None:
        for _ in range(count):
            step()
        add()

    def value(start: Any) -> float:
        begin(start)
        run()
        return float(loss[None])

    start, eye = np.array([0.2, 0.3, 0.5]), 1e-6 * np.eye(3)
    expected = [(value(start + row) - value(start - row)) / 2e-6 for row in eye]
    begin(start)
    with ti.ad.Tape(loss, **({} if memory is None else {"memory": memory})):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-7)
