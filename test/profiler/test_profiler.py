"""Times of launches and of compiling."""

from __future__ import annotations

import math
import re
from time import perf_counter

import numpy as np
import pytest

import mlirad as ti


def prepared(**options: object) -> ti.field:
    ti.init(offline_cache=False, **options)
    x = ti.field(ti.f32, 4096, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def work(n: int):
        for i in x:
            s = 0.0
            for k in range(n):
                s += ti.sin(s + x[i] + k)
            loss[None] += s

    return work, loss


@pytest.mark.cpu_code("a GPU measures launches by its own clock, which the stub makes up")
def test_sums_agree_with_a_clock() -> None:
    work, _ = prepared(kernel_profiler=True)
    work(1)
    for _ in range(3):  # others may use the machine between two readings of a clock
        ti.profiler.clear_kernel_profiler_info()
        begun = perf_counter()
        for _ in range(5):
            work(300)
        ti.sync()
        passed = perf_counter() - begun
        found = ti.profiler.get_kernel_profiler_total_time()
        if found == pytest.approx(passed, rel=0.05):
            break
    assert found == pytest.approx(passed, rel=0.05)
    launches = ti.profiler.query_kernel_profiler_info("work")
    assert launches.counter == 5 and launches.min <= launches.avg <= launches.max
    assert launches.total == pytest.approx(1000 * found)


def test_tables_have_kernels_and_their_reverses(capsys: pytest.CaptureFixture[str]) -> None:
    work, loss = prepared(kernel_profiler=True)
    with ti.ad.Tape(loss):
        work(3)
    ti.profiler.print_kernel_profiler_info()
    ti.profiler.print_kernel_profiler_info("trace")
    table = capsys.readouterr().out
    for kernel in ("work", "work.reverse"):  # on a GPU with the share of its ceiling
        assert len(re.findall(rf" {kernel}(?:,.*)?$", table, re.MULTILINE)) == 2
    with pytest.raises(ValueError, match="mode='count' or mode='trace'"):
        ti.profiler.print_kernel_profiler_info("all")


def test_copies_of_a_tape_are_timed_beside_its_launches() -> None:
    ti.init(offline_cache=False, kernel_profiler=True)
    x = ti.field(ti.f64, 1 << 16, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in x:
            x[i] = ti.sin(x[i]) + 0.5

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2

    with ti.ad.Tape(loss):
        for _ in range(4):
            step()
        total()
    kept, given = map(
        ti.profiler.query_kernel_profiler_info, ("kept for derivatives", "restored in memory")
    )
    value, derivative = 0.0, 1.0
    for _ in range(4):
        value, derivative = math.sin(value) + 0.5, derivative * math.cos(value)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * value * derivative, rtol=1e-12)
    assert kept.counter == 5  # before each step, and what the last one left
    assert given.counter == 5 and given.total > 0
    assert ti.profiler.query_kernel_profiler_info("step.reverse").counter == 4


def test_compiling_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    before = ti.profiler.get_total_compilation_time()
    work, _ = prepared()
    begun = perf_counter()
    work(1)
    passed = perf_counter() - begun
    assert 0 < ti.profiler.get_total_compilation_time() - before <= passed
    ti.profiler.print_scoped_profiler_info()
    assert " work\n" in capsys.readouterr().out


def test_nothing_is_timed_unless_it_is_asked_for() -> None:
    work, _ = prepared()
    work(1)
    with pytest.warns(UserWarning, match="kernel_profiler=True"):
        assert ti.profiler.get_kernel_profiler_total_time() == 0
    with pytest.warns(UserWarning, match="not timed"):
        assert ti.profiler.query_kernel_profiler_info("work").counter == 0
