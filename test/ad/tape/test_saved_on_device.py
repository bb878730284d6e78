"""Values that a reverse keeps, on a machine whose kernels allocate nothing: gradients are those of
the CPU, in every order of threads, and memory is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mlirad as ti

N = 300


@dataclass
class Memory:
    """What the programs here work on."""

    x: Any
    out: Any
    trips: Any
    loss: Any


def memory(dtype: Any) -> Memory:
    """Fields with numbers in them."""
    x, out = (ti.field(dtype, N, needs_grad=True) for _ in range(2))
    trips, loss = ti.field(ti.i32, N), ti.field(dtype, (), needs_grad=True)
    random = np.random.default_rng(7)
    x.from_numpy((random.random(N) + 0.2).astype(np.float64 if dtype == ti.f64 else np.float32))
    trips.from_numpy(random.integers(0, 40, N).astype(np.int32))
    return Memory(x, out, trips, loss)


def known_trips(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            s = m.x[i]
            for _ in range(200):
                s += 0.01 * ti.sin(s)
            m.loss[None] += s

    return run


def trips_in_an_argument(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run(n: ti.i32):
        for i in m.x:
            s = m.x[i]
            for _ in range(n // 2):
                s += 0.01 * ti.sin(s)
            m.loss[None] += s

    return lambda: run(101)


def trips_in_memory(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            s = m.x[i]
            for _ in range(m.trips[i]):
                s += 0.01 * ti.sin(s)
            m.loss[None] += s

    return run


def trips_found_by_a_while(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            s = m.x[i]
            while s < 3.0:
                s += 0.1 * ti.sin(s) * s + 0.01
            m.loss[None] += s * s

    return run


def loops_in_loops(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            s = m.x[i]
            for k in range(m.trips[i]):
                while s < 0.05 * k + 0.5:
                    s += 0.1 * ti.sin(s) * s + 0.02
                for j in range(k):
                    s -= 0.001 * s * s * j
            m.loss[None] += s

    return run


def a_local_array(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            a = ti.Matrix.zero(float, 6, 6)
            for k in range(36):
                a[k // 6, (k * 5) % 6] = m.x[i] * k
            for k in range(6):
                m.loss[None] += a[k, m.trips[i] % 6] ** 2

    return run


def one_thread(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        s = 0.0
        ti.loop_config(serialize=True)
        for i in range(m.trips[0] + 5):
            s = s * 0.9 + ti.sin(s * m.x[i]) + m.x[i]
        for i in m.x:
            m.loss[None] += s * m.x[i]

    return run


def memory_overwritten(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            for k in range(m.trips[i]):
                if m.x[i] > 0.5:
                    m.x[i] = 0.9 * m.x[i] * m.x[i]
                else:
                    m.x[i] = ti.sin(m.x[i]) + 0.3
                if k > 20:
                    m.x[i] *= m.x[i]
            m.loss[None] += m.x[i]

    return run


def a_range_left_early(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in range(N - 6):
            m.out[i] = 1.0
            for j in range(6):
                m.out[i] *= 1.0 - 0.4 * m.x[i + j]
                if m.out[i] < 0.3:
                    break
            m.loss[None] += m.out[i] * m.out[i]

    return run


def newton_in_memory(m: Memory) -> Callable[[], None]:
    @ti.kernel
    def run():
        for i in m.x:
            m.out[i] = 1.0
            while ti.abs(m.out[i] * m.out[i] - m.x[i]) > 1e-3:
                m.out[i] -= (m.out[i] * m.out[i] - m.x[i]) / (2.0 * m.out[i])
            m.loss[None] += m.out[i]

    return run


def loops_that_change_their_trips(m: Memory) -> Callable[[], None]:
    """Three deep, and a condition that writes."""

    @ti.kernel
    def run():
        for i in m.x:
            m.out[i] = m.x[i]
            for _ in range(2):
                while m.out[i] > 0.3:
                    m.out[i] *= m.x[i] * 0.5
                    m.trips[i] += 1
                    for _ in range(m.trips[i] % 3):
                        m.out[i] *= 0.9 + 0.05 * ti.sin(m.out[i])
                m.out[i] += 0.5
                while ti.atomic_sub(m.trips[i], 1) > 1:
                    m.out[i] += 0.1 * ti.cos(m.out[i] * m.trips[i])
            m.loss[None] += m.out[i] * m.out[i]

    return run


PROGRAMS = (
    known_trips,
    trips_in_an_argument,
    trips_in_memory,
    trips_found_by_a_while,
    loops_in_loops,
    a_local_array,
    one_thread,
    memory_overwritten,
    a_range_left_early,
    newton_in_memory,
    loops_that_change_their_trips,
)


def gradient(make: Callable[[Memory], Callable[[], None]], dtype: Any) -> np.ndarray:
    """The gradient of a program's loss by x."""
    m = memory(dtype)
    run = make(m)
    with ti.ad.Tape(m.loss):
        run()
    found: np.ndarray = m.x.grad.to_numpy()
    assert np.abs(found).max() > 0.1
    return found


@pytest.mark.parametrize("make", PROGRAMS)
def test_gradients_are_those_of_the_cpu(make: Callable[[Memory], Callable[[], None]]) -> None:
    """Whatever the order of threads; f32 within what other sums of partial adjoints round."""
    for dtype, order, tolerance in ((ti.f32, "descending", 1e-5), (ti.f64, "shuffled", 1e-12)):
        ti.init(arch=ti.cpu, default_fp=dtype)
        expected = gradient(make, dtype)
        ti.init(arch=ti.simt, simt_order=order, default_fp=dtype)
        found = gradient(make, dtype)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def second_order(arch: Any) -> np.ndarray:
    """The second derivative of s -> s + 0.1 sin s, ten times, by each start."""
    ti.init(arch=arch, default_fp=ti.f64)
    x, loss = ti.field(ti.f64, 50, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    x.from_numpy(np.linspace(0.0, 2.0, 50))

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            s = x[i]
            for _ in range(n):
                s += 0.1 * ti.sin(s)
            loss[None] += s

    ones = np.ones(50)
    found: Sequence[np.ndarray] = ti.ad.hvp(lambda: run(10), loss, [x], [ones])
    return np.asarray(found[0])


def test_tangents_are_kept_too() -> None:
    """Forward over reverse: by differences of the derivative, which a chain of cosines is."""

    def derivative(s: np.ndarray) -> np.ndarray:
        product = np.ones_like(s)
        for _ in range(10):
            product *= 1.0 + 0.1 * np.cos(s)
            s = s + 0.1 * np.sin(s)
        return product

    at, step = np.linspace(0.0, 2.0, 50), 1e-5
    expected = (derivative(at + step) - derivative(at - step)) / (2 * step)
    np.testing.assert_allclose(second_order(ti.simt), expected, atol=1e-8)


def test_logs_of_tangents_are_counted() -> None:
    """Forward over reverse, of a program that goes back: what a CPU finds, whose logs grow."""
    found = []
    for arch in (ti.cpu, ti.simt):
        ti.init(arch=arch, default_fp=ti.f64)
        m = memory(ti.f64)
        product: Sequence[np.ndarray] = ti.ad.hvp(
            loops_that_change_their_trips(m), m.loss, [m.x], [np.ones(N)]
        )
        found.append(np.asarray(product[0]))
    assert np.abs(found[0]).max() > 0.1
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10, atol=1e-10)


def test_what_has_to_be_undone_is_counted() -> None:
    """The trips of the inner loop, in each iteration of the outer one, by the numbers that were in
    memory then: the reverse has moved it back. By hand, for each start."""
    ti.init(arch=ti.simt, default_fp=ti.f64)
    x, loss = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    start = np.linspace(0.05, 0.97, N)

    @ti.kernel
    def run():
        for i in x:
            for _ in range(3):
                while x[i] > 0.1:
                    x[i] *= x[i]
                x[i] += 0.5
            loss[None] += x[i]

    expected = np.ones(N)
    for i, s in enumerate(start):
        for _ in range(3):
            while s > 0.1:
                expected[i] *= 2 * s
                s *= s
            s += 0.5
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-12)


def test_memory_does_not_grow_with_the_launch() -> None:
    """A million iterations of a hundred trips have no more than 2^17 columns, which they use again:
    52 MB, not 400."""
    ti.init(arch=ti.simt)
    many = 1 << 20
    x, loss = ti.field(ti.f32, many, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    x.fill(0.5)

    @ti.kernel
    def run():
        for i in x:
            s = x[i]
            for _ in range(100):
                s += 0.001 * s * s
            loss[None] += s

    text = run.ir(stage="outlined", mode="reverse")
    assert re.findall(r"gpu\.alloc .*: (\S+)", text) == ["memref<100x131072xf32>"]
    loss.grad[None] = 1.0
    run.grad()
    s, expected = 0.5, 1.0
    for _ in range(100):
        expected *= 1.0 + 0.002 * s
        s += 0.001 * s * s
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-5)
