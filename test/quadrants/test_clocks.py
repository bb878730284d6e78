"""`qd.clock_counter()` and `qd.clock_freq_hz()`: time as kernels see it, and derivatives beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver

import mlirad.quadrants as qd
from mlirad.errors import TaichiCompilationError, TaichiRuntimeError, TaichiTypeError
from mlirad.runtime.executors import EXECUTORS

COUNT = 64


@pytest.fixture(autouse=True)
def _program() -> None:
    qd.init(default_fp=qd.f64)


@qd.kernel
def note_times(ticks: qd.types.ndarray(dtype=qd.i64, ndim=1)):
    qd.loop_config(serialize=True)
    for i in range(COUNT):
        ticks[i] = qd.clock_counter()


@qd.kernel
def scale(
    x: qd.types.ndarray(dtype=qd.f64, ndim=1),
    ticks: qd.types.ndarray(dtype=qd.i64, ndim=1),
    y: qd.types.ndarray(dtype=qd.f64, ndim=1),
):
    for i in x:
        ticks[i] = qd.clock_counter()
        y[i] = x[i] * x[i] * ticks[i]


def test_each_iteration_reads_another_time() -> None:
    ticks = np.zeros(COUNT, np.int64)
    note_times(ticks)
    first = ticks.copy()
    note_times(ticks)
    assert (np.diff(first) > 0).all()
    assert (ticks > first.max()).all()


def test_what_is_longer_takes_more_ticks() -> None:
    @qd.kernel
    def work(length: qd.i32, out: qd.types.ndarray(dtype=qd.f64, ndim=1)) -> qd.i64:
        begin = qd.clock_counter()
        value = 1.0
        for j in range(length):
            value = qd.sin(value + j)
        out[0] = value
        return qd.clock_counter() - begin

    out = np.zeros(1)
    work(1, out)
    short = min(work(100, out) for _ in range(9))
    long = min(work(10_000, out) for _ in range(9))
    assert 0 < 10 * short < long


def test_no_two_readings_are_one() -> None:
    @qd.kernel
    def spin() -> qd.i64:
        begin, count = qd.clock_counter(), qd.i64(0)
        while qd.clock_counter() - begin < 100_000:
            count += 1
        qd.clock_counter()
        return count

    assert spin() > 1


def test_a_time_that_is_stored_is_a_constant() -> None:
    x, y = (qd.ndarray(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    ticks = qd.ndarray(qd.i64, COUNT)
    x.fill(3.0)
    y.grad.fill(1.0)
    scale(x, ticks, y)
    kept = ticks.to_numpy()
    np.testing.assert_array_equal(y.to_numpy(), 9.0 * kept)
    scale.grad(x, ticks, y)
    np.testing.assert_array_equal(x.grad.to_numpy(), 6.0 * kept)
    np.testing.assert_array_equal(ticks.to_numpy(), kept)


def test_a_time_that_is_stored_by_a_recorded_launch() -> None:
    x, y = (qd.ndarray(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    ticks, loss = qd.ndarray(qd.i64, COUNT), qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def total(y: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        for i in y:
            loss[None] += y[i]

    x.fill(3.0)
    for options in ({}, {"memory": 1 << 16}):
        loss[None] = 0.0
        x.grad.fill(0.0)
        with qd.ad.Tape(loss, **options):
            for _ in range(3):
                scale(x, ticks, y)
            total(y)
        np.testing.assert_array_equal(x.grad.to_numpy(), 6.0 * ticks.to_numpy())


def test_tangents_take_the_time_that_values_take() -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_dual=True) for _ in range(2))

    @qd.kernel
    def scale_at_once():
        for i in x:
            y[i] = x[i] * qd.clock_counter()

    x.fill(2.0)
    with qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * COUNT):
        scale_at_once()
    np.testing.assert_array_equal(2.0 * y.dual.to_numpy(), y.to_numpy())


def test_times_beside_a_gradient() -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    took = qd.field(qd.i64, COUNT)

    @qd.kernel
    def square():
        for i in x:
            begin = qd.clock_counter()
            while qd.clock_counter() - begin < 1000:
                pass
            y[i] = x[i] * x[i]
            took[i] = qd.clock_counter() - begin

    x.from_numpy(np.arange(COUNT, dtype=float))
    y.grad.fill(1.0)
    square()
    kept = took.to_numpy()
    assert (kept >= 1000).all()
    square.grad()
    np.testing.assert_array_equal(x.grad.to_numpy(), 2.0 * np.arange(COUNT))
    np.testing.assert_array_equal(took.to_numpy(), kept)


def test_a_time_that_parts_of_a_kernel_share() -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    loss, shared = qd.field(qd.f64, (), needs_grad=True), qd.field(qd.i64, ())

    @qd.kernel
    def parts():
        ticks = qd.clock_counter()
        for i in x:
            y[i] = x[i] * x[i] * ticks
        for i in x:
            x[i] = y[i] * 2.0
        for i in x:
            loss[None] += x[i]
        shared[None] = ticks

    x.fill(3.0)
    with qd.ad.Tape(loss):
        parts()
    np.testing.assert_array_equal(x.grad.to_numpy(), np.full(COUNT, 12.0 * shared[None]))


def _by_product(x: Any, y: Any) -> Any:
    @qd.kernel
    def product():
        for i in x:
            y[i] = x[i] * qd.clock_counter()

    return product


def _by_branch(x: Any, y: Any) -> Any:
    @qd.kernel
    def branch():
        for i in x:
            if qd.clock_counter() % 2 == 0:
                y[i] = x[i]

    return branch


def _by_index(x: Any, y: Any) -> Any:
    @qd.kernel
    def index():
        for i in x:
            y[qd.clock_counter() % COUNT] += x[i]

    return index


def _by_trips(x: Any, y: Any) -> Any:
    @qd.kernel
    def trips():
        for i in x:
            end = qd.clock_counter() + 1000
            while qd.clock_counter() < end:
                y[i] += x[i] * x[i]

    return trips


@pytest.mark.parametrize("make", [_by_product, _by_branch, _by_index, _by_trips])
def test_a_reverse_that_would_read_it_again_is_refused(make: Callable[[Any, Any], Any]) -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    kernel = make(x, y)
    kernel()
    with pytest.raises(TaichiCompilationError, match=r"(?s)test_clocks.py:\d+:.*on this clock"):
        kernel.grad()


def test_a_check_that_would_read_it_again_is_refused() -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_dual=True) for _ in range(2))

    @qd.kernel
    def meet():
        for i in x:
            y[qd.clock_counter() % COUNT] = x[i]

    with (
        pytest.raises(TaichiCompilationError, match=r"(?s)test_clocks.py:\d+:.*on this clock"),
        qd.ad.FwdMode(loss=y, param=x, seed=[1.0] * COUNT),
    ):
        meet()


def test_steps_that_are_run_again_read_no_clock() -> None:
    x, y = (qd.field(qd.f64, COUNT, needs_grad=True) for _ in range(2))
    ticks, loss = qd.field(qd.i64, COUNT), qd.field(qd.f64, (), needs_grad=True)

    @qd.kernel
    def step():
        for i in x:
            ticks[i] = qd.clock_counter()
            y[i] += x[i]

    with (
        pytest.raises(TaichiRuntimeError, match=r"'step' reads a clock at .*test_clocks.py:\d+"),
        qd.ad.Tape(loss),
    ):
        for _ in qd.ad.checkpointed(range(4), state=[y, ticks], snapshots=2):
            step()


def test_functions_of_numbers_read_no_clock() -> None:
    x = qd.field(qd.f64, COUNT)

    @qd.func
    def late(value):
        return value * qd.clock_counter()

    @qd.kernel
    def slopes():
        for i in x:
            x[i] = qd.ad.grad(late)(x[i])

    with pytest.raises(TaichiCompilationError, match="a function with side effects: reads a clock"):
        slopes()


def test_python_reads_no_clock() -> None:
    with pytest.raises(TaichiTypeError, match="can only be read inside a compiled kernel"):
        qd.clock_counter()


def test_the_code_of_a_gpu_reads_its_clock() -> None:
    ticks = np.zeros(COUNT, np.int64)
    text = str(note_times.ptx(ticks, chip="sm_90"))
    assert "mov.u64 \t%rd" in text and "%clock64" in text

    @qd.kernel
    def both() -> qd.i64:
        begin = qd.clock_counter()
        return qd.clock_counter() - begin

    assert str(both.ptx(chip="sm_90")).count("%clock64") == 2


def test_how_fast_the_clock_of_a_gpu_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub_the_driver()
    qd.init(arch=qd.cuda)
    assert qd.clock_freq_hz() == 1.7e9  # what the stub says
    ticks = np.zeros(COUNT, np.int64)
    note_times(ticks)
    assert (ticks > 0).all()
    qd.reset()


def test_a_cpu_does_not_say_how_fast_its_clock_goes() -> None:
    qd.init(arch=qd.cpu)
    with pytest.raises(NotImplementedError, match="not on x64"):
        qd.clock_freq_hz()
