"""Streams, events and `qd.stream_parallel`: programs that use them, in one order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlirad as ti
import mlirad.quadrants as qd
from mlirad.errors import TaichiCompilationError

COUNT = 16


@pytest.fixture(autouse=True)
def _program() -> None:
    ti.init(default_fp=ti.f64)


def test_launches_in_streams() -> None:
    x = ti.field(ti.f64, COUNT)

    @qd.kernel
    def add(value: qd.f64):
        for i in x:
            x[i] = 2 * x[i] + value

    with qd.create_stream() as first, qd.create_stream() as second, qd.create_event() as event:
        add(1.0, qd_stream=first)
        event.record(first)
        event.wait(qd_stream=second)
        event.wait()
        for value in (2.0, 3.0):
            add(value=value, qd_stream=second)
        add(4.0, qd_stream=None)
        event.synchronize()
        second.synchronize()
        assert first.handle == event.handle == 0
    np.testing.assert_array_equal(x.to_numpy(), 8 + 8 + 6 + 4)


def test_gradients_of_launches_in_streams() -> None:
    x = ti.field(ti.f64, COUNT, needs_grad=True)
    y = ti.field(ti.f64, COUNT, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @qd.kernel
    def squares():
        with qd.stream_parallel():
            for i in x:
                loss[None] += x[i] ** 2
        with qd.stream_parallel():
            for i in y:
                y[i] = y[i] ** 3
            for i in y:
                loss[None] += y[i]

    values = np.linspace(0.5, 1, COUNT)
    x.from_numpy(values)
    y.from_numpy(values)
    stream = qd.create_stream()
    with ti.ad.Tape(loss):
        squares(qd_stream=stream)
    assert loss[None] == pytest.approx((values**2 + values**3).sum())
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * values, rtol=1e-12)
    np.testing.assert_allclose(y.grad.to_numpy(), 3 * values**2, rtol=1e-12)


def test_a_reverse_in_a_stream() -> None:
    x = ti.field(ti.f64, COUNT, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @qd.kernel
    def squares():
        with qd.stream_parallel():
            for i in x:
                loss[None] += x[i] ** 2

    x.fill(3)
    loss.grad[None] = 1
    squares.grad(qd_stream=qd.create_stream())
    np.testing.assert_array_equal(x.grad.to_numpy(), 6)


def test_what_is_no_stream() -> None:
    @qd.kernel
    def run():
        pass

    stream = qd.create_stream()
    stream.destroy()
    stream.destroy()
    with pytest.raises(RuntimeError, match="the stream was destroyed"):
        run(qd_stream=stream)
    with pytest.raises(TypeError, match=r"made by create_stream\(\), got 3"):
        run(qd_stream=3)


def _mixed() -> None:
    @qd.kernel
    def run():
        with qd.stream_parallel():
            pass
        for _ in range(3):
            pass

    run()


def _in_a_graph() -> None:
    @qd.kernel(graph=True)
    def run():
        with qd.stream_parallel():
            pass

    run()


def _in_a_function() -> None:
    @qd.func
    def inner():
        with qd.stream_parallel():
            pass

    @qd.kernel
    def run():
        inner()

    run()


def _nested() -> None:
    @qd.kernel
    def run():
        with qd.stream_parallel():
            if qd.static(True):
                with qd.stream_parallel():
                    pass

    run()


REFUSED = {
    _mixed: "all top-level statements",
    _in_a_graph: "not compatible with graph=True",
    _in_a_function: "only be used inside @qd.kernel, at its top level",
    _nested: "at its top level",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_refused(program: Any) -> None:
    with pytest.raises(TaichiCompilationError, match=REFUSED[program]):
        program()
