"""`qd.graph`: loops that a counter in memory ends, sections, and what is refused."""

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


def _counter(start: int) -> Any:
    counter = qd.ndarray(qd.i32, ())
    counter.fill(start)
    return counter


def test_loops_in_loops_that_counters_end() -> None:
    @qd.kernel(graph=True)
    def run(
        x: qd.types.ndarray(qd.f64, ndim=1),
        outer: qd.types.ndarray(qd.i32, ndim=0),
        inner: qd.types.ndarray(qd.i32, ndim=0),
    ):
        for i in range(x.shape[0]):
            x[i] = x[i] + 100
        while qd.graph.do_while(outer):
            inner[()] = 3
            while qd.graph.do_while(inner):
                for i in range(x.shape[0]):
                    x[i] = x[i] + 1
                inner[()] = inner[()] - 1
            with qd.graph.parallel_context(), qd.graph.parallel():
                for i in range(x.shape[0]):
                    x[i] = x[i] + 10
            outer[()] = outer[()] - 1

    x, outer, inner = qd.ndarray(qd.f64, COUNT), _counter(4), _counter(0)
    run(x, outer, inner)
    np.testing.assert_array_equal(x.to_numpy(), 100 + 4 * 13)
    assert outer[None] == 0
    outer.fill(1)
    run(x, outer, inner)
    np.testing.assert_array_equal(x.to_numpy(), 200 + 5 * 13)


def _steps(x: Any) -> Any:
    for _ in range(3):
        x = 0.9 * x * x + 0.1
    return x


def _programs() -> tuple[Any, Any, Any]:
    loss = ti.field(ti.f64, (), needs_grad=True)

    @qd.kernel(graph=True)
    def run(x: qd.types.ndarray(qd.f64, ndim=1), counter: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(counter):
            for i in range(COUNT):
                x[i] = 0.9 * x[i] * x[i] + 0.1
            counter[()] = counter[()] - 1

    @qd.kernel
    def add(x: qd.types.ndarray(qd.f64, ndim=1)):
        for i in range(COUNT):
            loss[None] += x[i]

    return loss, run, add


def test_gradients_through_a_loop_that_a_counter_ends() -> None:
    loss, run, add = _programs()
    x, counter = qd.ndarray(qd.f64, COUNT, needs_grad=True), _counter(3)
    start = np.linspace(0.5, 1, COUNT)
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        run(x, counter)
        add(x)
    expected = (_steps(start + 1e-6) - _steps(start - 1e-6)) / 2e-6
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-8)


def test_tangents_through_it() -> None:
    y = ti.field(ti.f64, COUNT, needs_dual=True)
    loss = ti.field(ti.f64, (), needs_dual=True)
    counter = ti.field(ti.i32, ())

    @qd.kernel(graph=True)
    def run():
        while qd.graph.do_while(counter):
            for i in range(COUNT):
                y[i] = 0.9 * y[i] * y[i] + 0.1
            counter[None] -= 1
        for i in range(COUNT):
            loss[None] += y[i]

    start = np.linspace(0.5, 1, COUNT)
    y.from_numpy(start)
    counter[None] = 3
    with ti.ad.FwdMode(loss=loss, param=y, seed=[1.0] * COUNT):
        run()
    expected = (_steps(start + 1e-6) - _steps(start - 1e-6)).sum() / 2e-6
    assert loss.dual[None] == pytest.approx(expected, rel=1e-8)


def test_sections_of_what_is_known_while_compiling() -> None:
    x = ti.field(ti.f64, (3, COUNT), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @qd.kernel(graph=True)
    def run():
        with qd.graph.parallel_context():
            for row in qd.static(range(3)):
                with qd.graph.parallel():
                    for i in range(COUNT):
                        loss[None] += (row + 1) * x[row, i] ** 2
            if qd.static(False):
                with qd.graph.parallel():
                    for i in range(COUNT):
                        x[0, i] = 0

    x.fill(0.5)
    with ti.ad.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), np.array([[1.0], [2], [3]]) * np.ones(COUNT))


def test_sections_do_nothing_in_python() -> None:
    with qd.graph.parallel_context(), qd.graph.parallel():
        pass


def test_a_graph_of_arrays_that_are_gone() -> None:
    builder = ti.FieldsBuilder()
    y = ti.field(ti.f64)
    builder.dense(ti.i, COUNT).place(y)
    root = builder.finalize()

    @qd.kernel(graph=True)
    def run():
        for i in range(COUNT):
            y[i] = i

    run()
    root.destroy()
    with pytest.raises(
        TaichiCompilationError, match="field 'y' belongs to a layout tree that was destroyed"
    ):
        run()


def _without_graph() -> None:
    @qd.kernel
    def run(counter: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(counter):
            counter[()] = 0

    run(_counter(1))


def _in_a_loop() -> None:
    @qd.kernel(graph=True)
    def run(counter: qd.types.ndarray(qd.i32, ndim=0)):
        for _ in range(3):
            while qd.graph.do_while(counter):
                counter[()] = 0

    run(_counter(1))


def _of_a_vector() -> None:
    @qd.kernel(graph=True)
    def run(counter: qd.types.ndarray(qd.i32, ndim=1)):
        while qd.graph.do_while(counter):
            counter[0] = 0

    run(qd.ndarray(qd.i32, 3))


def _left_early() -> None:
    @qd.kernel(graph=True)
    def run(counter: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(counter):
            break

    run(_counter(1))


def _alone() -> None:
    @qd.kernel(graph=True)
    def run():
        with qd.graph.parallel():
            pass

    run()


def _of_two_kinds() -> None:
    @qd.kernel(graph=True)
    def run(x: qd.types.ndarray(qd.i32, ndim=0)):
        with qd.graph.parallel_context():
            x[()] = 1

    run(_counter(1))


def _waits() -> None:
    @qd.kernel(graph=True)
    def run(counter: qd.types.ndarray(qd.i32, ndim=0)):
        while qd.graph.do_while(counter):
            for _ in range(32):
                qd.simt.block.sync()

    run(_counter(1))


def _returns() -> None:
    @qd.kernel(graph=True)
    def run() -> qd.i32:
        return 1


REFUSED = {
    _without_graph: r"requires @qd.kernel\(graph=True\)",
    _in_a_loop: "top level of the kernel",
    _of_a_vector: r"an array of shape \(\)",
    _left_early: "only end by its counter",
    _alone: "directly inside a qd.graph.parallel_context",
    _of_two_kinds: "may only contain",
    _waits: "threads cannot synchronize in qd.graph.do_while",
    _returns: "not supported for kernels with a return value",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.__name__)
def test_refused(program: Any) -> None:
    with pytest.raises(TaichiCompilationError, match=REFUSED[program]):
        program()
