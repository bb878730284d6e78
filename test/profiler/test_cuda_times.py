"""Times of launches on a GPU, by the driver's events; the stub's clock has a millisecond a launch
of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver
from runtime.cuda.stub import Stub

import mlirad as ti
from mlirad.runtime.executors import EXECUTORS

N = 1000


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A program whose launches are timed."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub = stub_the_driver()
    ti.init(arch=ti.cuda, kernel_profiler=True)
    yield stub
    assert stub.mistakes == []


def programs() -> tuple[Any, Any, Any]:
    """A kernel of three loops, a sum, and the loss."""
    x = ti.field(ti.f32, N, needs_grad=True)
    y = ti.field(ti.f32, N, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    x.from_numpy(np.linspace(0, 1, N).astype(np.float32))

    @ti.kernel
    def step():
        ti.loop_config(name="twice")
        for i in x:
            y[i] = 2.0 * x[i]
        for i in x:
            y[i] += 1.0
        ti.loop_config(name="twice")
        for i in x:
            y[i] *= 2.0

    @ti.kernel
    def add_up() -> ti.f32:
        for i in y:
            loss[None] += y[i]
        return loss[None]

    return step, add_up, loss


def test_loops_have_their_times(cuda: Stub) -> None:
    """Two with one name are one row, one without has its line; the kernel has all, from the first
    launch on."""
    step, _, _ = programs()
    for count in range(1, 4):
        step()
        kernel = ti.profiler.query_kernel_profiler_info("step")
        named = ti.profiler.query_kernel_profiler_info("step: twice")
        assert (kernel.counter, kernel.min, kernel.max) == (count, 3.0, 3.0)
        assert (named.counter, named.min, named.max) == (count, 2.0, 2.0)
    profile = ti.profiler.kernels.program().profile
    lines = [name for name in profile.loops if name.startswith("step: line ")]
    assert len(lines) == 1 and profile.loops[lines[0]].avg == 1.0


def test_kernels_that_return_something(cuda: Stub) -> None:
    """Wait in the middle, and are timed all the same; results are right."""
    step, add_up, _ = programs()
    step()
    expected = (2 * np.linspace(0, 1, N) + 1).sum() * 2
    np.testing.assert_allclose(add_up(), expected, rtol=1e-5)
    assert ti.profiler.query_kernel_profiler_info("add_up").min >= 2.0


def test_a_tape(cuda: Stub) -> None:
    """Primal and reverse, in a sequence that would be a graph."""
    x = ti.field(ti.f32, N, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def scale():
        for i in x:
            x[i] *= 2.0

    @ti.kernel
    def add_up():
        for i in x:
            loss[None] += x[i]

    for _ in range(3):
        x.fill(1.0)
        with ti.ad.Tape(loss):
            for _ in range(4):
                scale()
            add_up()
    np.testing.assert_array_equal(x.grad.to_numpy(), 16.0)
    assert ti.profiler.query_kernel_profiler_info("scale").counter == 12
    assert ti.profiler.query_kernel_profiler_info("scale.reverse").counter == 12
    assert not cuda.counts["cuGraphLaunch"]


def test_bytes_beside_a_copy(cuda: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as a launch touches at least; not of arrays that are arguments."""
    x, y = ti.field(ti.f32, N), ti.field(ti.f32, N)

    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    @ti.kernel
    def double(a: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            a[i] *= 2.0

    for _ in range(3):
        copy()
        double(np.ones(N, np.float32))
    row = ti.profiler.query_kernel_profiler_info("copy")
    assert row.bytes == 3 * 2 * 4 * N
    assert row.rate == 8 * N / 1e-3
    assert ti.profiler.query_kernel_profiler_info("double").bytes == 0
    ti.profiler.print_kernel_profiler_info()
    lines = capsys.readouterr().out.splitlines()
    assert sum("GB/s" in line and "of a copy" in line for line in lines) == 1


def test_threads(cuda: Stub) -> None:
    """Their launches are timed one after the other."""
    step, _, _ = programs()
    step()
    threads = [Thread(target=lambda: [step() for _ in range(10)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row = ti.profiler.query_kernel_profiler_info("step")
    assert (row.counter, row.min, row.max) == (31, 3.0, 3.0)


def test_a_driver_without_events(cuda: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of the host's does."""
    monkeypatch.setattr("mlirad.runtime.cuda.functions.Functions.has_events", False)
    step, _, _ = programs()
    step()
    row = ti.profiler.query_kernel_profiler_info("step")
    assert row.counter == 1 and row.total > 0.0
    assert not cuda.counts["cuEventRecord"]
