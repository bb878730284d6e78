"""Times of launches and of compiling."""

from __future__ import annotations

from time import perf_counter

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
    assert table.count(" work\n") == 2 and table.count(" work.reverse\n") == 2
    with pytest.raises(ValueError, match="'count' or 'trace'"):
        ti.profiler.print_kernel_profiler_info("all")


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
