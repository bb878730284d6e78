"""Names of loops, in IR, in machine code, in profiles and in errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver

import mlirad as ti
from mlirad.runtime.executors import EXECUTORS

N = 16


def kernel_with_names(n: int = N) -> tuple[Any, Any, Any]:
    """A kernel of three loops with names and one without, with its input and its loss."""
    x = ti.field(ti.f64, (n, n), needs_grad=True)
    y = ti.field(ti.f64, (n, n), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(rows: int):
        ti.loop_config(name="square all")
        for i, j in x:
            y[i, j] = x[i, j] ** 2
        ti.loop_config(name="sum")
        for i in range(rows):
            loss[None] += y[i, 0]
        ti.loop_config(name="in order", serialize=True)
        for i in range(rows):
            loss[None] += y[i, 1] * y[i, 2]
        for i in range(rows):
            loss[None] += y[i, 3]

    return step, x, loss


def test_values_and_gradients_are_those_without_names() -> None:
    ti.init()
    step, x, loss = kernel_with_names()
    start = np.random.default_rng(1).uniform(0.5, 1.5, (N, N))
    x.from_numpy(start)
    with ti.ad.Tape(loss):
        step(N)
    square = start**2
    expected = np.zeros((N, N))
    expected[:, [0, 3]] = 1
    expected[:, [1, 2]] = square[:, [2, 1]]
    value = (square[:, 0] + square[:, 1] * square[:, 2] + square[:, 3]).sum()
    assert loss[None] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(x.grad.to_numpy(), expected * 2 * start, rtol=1e-13)


GPU_NAMES = {
    # the loop in order is two: for many trips, which the threads of a block share, and for few
    "primal": ["0_square_all", "1_sum", "2_sum", "3_in_order", "4_in_order", "5", "6"],
    "reverse": ["0", "1_in_order", "2_in_order", "3_sum", "4_square_all"],
}


@pytest.mark.parametrize("mode", GPU_NAMES)
def test_kernels_of_a_gpu_have_the_names(mode: str) -> None:
    ti.init(arch=ti.simt)
    step, *_ = kernel_with_names()
    text = step.ir(N, stage="outlined", mode=mode)
    symbols = re.findall(r"gpu\.func @(\w+)", text)
    assert symbols == [f"step_{name}" for name in GPU_NAMES[mode]]
    entries = re.findall(r"\.entry (\w+)", step.ptx(N, mode=mode))
    assert set(entries) == set(symbols)


@pytest.mark.parametrize("mode", ["primal", "reverse", "forward"])
def test_functions_of_threads_have_the_names(mode: str) -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=2)
    step, *_ = kernel_with_names(2048)
    text = step.ir(2048, stage="target", mode=mode)
    pieces = set(re.findall(r"llvm\.func .*@(step\.piece\S+?)\(", text))
    endings = {piece.partition(".piece")[2].lstrip("0123456789") for piece in pieces}
    assert ".square_all" in endings and ".in_order" not in endings
    chunks = set(re.findall(r"llvm\.func .*@(step\.chunk\S+?)\(", text))
    endings = {chunk.partition(".chunk")[2].lstrip("0123456789") for chunk in chunks}
    assert {".square_all", ".sum", ""} <= endings


def test_names_need_be_no_words() -> None:
    ti.init(arch=ti.simt)
    x = ti.field(ti.i32, N)

    @ti.kernel
    def fill():
        ti.loop_config(name='λ "x":1:2 {}')
        for i in x:
            x[i] = i

    fill()
    assert x.to_numpy().tolist() == list(range(N))
    assert "@fill_0____x__1_2___" in fill.ir(stage="outlined")


def notes_of(run: Callable[[], object], kind: type[Exception]) -> list[str]:
    with pytest.raises(kind) as error:
        run()
    return getattr(error.value, "__notes__", [])


def test_refused_derivatives_name_their_loop() -> None:
    ti.init()
    x, product = ti.field(ti.f32, N, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def shift():
        ti.loop_config(name="shifted")
        for i in range(N - 1):
            x[i] = x[i + 1] * 2

    @ti.kernel
    def multiply():
        for i in x:
            x[i] = ti.exp(x[i])
        ti.loop_config(name="product")
        for i in x:
            ti.atomic_mul(product[None], x[i])

    @ti.kernel
    def unnamed():
        ti.loop_config(name="first")
        for i in x:
            x[i] = 1.0
        for i in range(N - 1):
            x[i] = x[i + 1] * 2

    assert notes_of(shift.grad, ti.TaichiCompilationError) == ["in the loop 'shifted'"]
    assert notes_of(multiply.grad, ti.TaichiCompilationError) == ["in the loop 'product'"]
    assert notes_of(unnamed.grad, ti.TaichiCompilationError) == []


def test_a_line_in_several_loops_names_none() -> None:
    ti.init()
    x = ti.field(ti.f32, N, needs_grad=True)

    @ti.func
    def shift(i: int):
        x[i] = x[i + 1] * 2

    @ti.kernel
    def twice():
        ti.loop_config(name="first")
        for i in range(N - 1):
            shift(i)
        ti.loop_config(name="second")
        for i in range(N - 1):
            shift(i)

    assert notes_of(twice.grad, ti.TaichiCompilationError) == []


def test_overwritten_values_name_both_loops() -> None:
    ti.init()
    x, y = (ti.field(ti.f32, N, needs_grad=True) for _ in range(2))

    @ti.kernel
    def step():
        ti.loop_config(name="read")
        for i in x:
            y[i] = ti.sin(x[i])
        ti.loop_config(name="write")
        for i in x:
            x[i] = y[i] * y[i]

    with pytest.raises(ti.TaichiRuntimeError) as error:
        step.grad()
    assert re.search(
        r":\d+ in the loop 'read' and needed by the gradient, is overwritten at "
        r".*:\d+ in the loop 'write'",
        str(error.value),
    )


def test_failures_of_launches_name_their_loop() -> None:
    ti.init(debug=True)
    x, y = (ti.field(ti.f32, N, needs_grad=True) for _ in range(2))
    place = ti.field(ti.i32, N)

    @ti.kernel
    def scatter():
        ti.loop_config(name="scatter {}")
        for i in x:
            x[place[i]] = y[i] * y[i]

    @ti.kernel
    def check():
        for i in x:
            assert i < N
        ti.loop_config(name="checked")
        for i in x:
            assert i < 5, "too large"

    @ti.kernel
    def outside():
        ti.loop_config(name="outside")
        for i in x:
            x[i + 1] = 0

    @ti.kernel
    def unnamed():
        for i in x:
            assert i < 5

    assert notes_of(scatter.grad, ti.TaichiRuntimeError) == ["in the loop 'scatter {}'"]
    assert notes_of(check, ti.TaichiAssertionError) == ["in the loop 'checked'"]
    assert notes_of(outside, ti.TaichiAssertionError) == ["in the loop 'outside'"]
    assert notes_of(unnamed, ti.TaichiAssertionError) == []


def test_warnings_of_races_name_the_loop() -> None:
    ti.init(debug=True)
    x = ti.field(ti.f32, N)

    @ti.kernel
    def shift():
        ti.loop_config(name="shifted")
        for i in range(N - 1):
            x[i] = x[i + 1] * 2

    with pytest.warns(UserWarning, match="of the same parallel loop 'shifted', at"):
        shift()


def timed_kernel() -> tuple[Any, Any]:
    """A kernel of a loop that does much and one that does little, and its loss."""
    x = ti.field(ti.f64, 512, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def work():
        ti.loop_config(name="much")
        for i in x:
            s = x[i]
            for _ in range(200):
                s = ti.sin(s)
            loss[None] += s
        ti.loop_config(name="little")
        for i in x:
            loss[None] += x[i]
        for i in x:
            loss[None] += 2 * x[i]

    return work, loss


@pytest.mark.parametrize("arch", [ti.cpu, ti.simt])
def test_the_profiler_times_loops_with_names(
    arch: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # what the first one compiled is of no use to the second one's clocks
        ti.init(arch=arch, kernel_profiler=True, offline_cache_file_path=str(tmp_path))
        work, loss = timed_kernel()
        for _ in range(3):
            work()
        with ti.ad.Tape(loss):
            work()
        query = ti.profiler.query_kernel_profiler_info
        for kernel, count in ("work", 4), ("work.reverse", 1):
            launches, much, little = map(query, (kernel, f"{kernel}: much", f"{kernel}: little"))
            assert launches.counter == much.counter == little.counter == count
            assert little.total > 0 < much.total
            assert much.total + little.total <= launches.total
            assert much.min <= much.avg <= much.max
        total = sum(query(name).total for name in ("work", "work.reverse"))
        assert ti.profiler.get_kernel_profiler_total_time() >= total / 1000
    ti.profiler.print_kernel_profiler_info()
    table = capsys.readouterr().out
    names = [line.split("ms ")[1] for line in table.splitlines() if " ms " in line]
    place = names.index("work")
    assert names[place : place + 3] == ["work", "work: much", "work: little"]
    ti.profiler.clear_kernel_profiler_info()
    assert query("work: much").counter == 0


@pytest.mark.cpu_code("loops of a GPU are not timed")
def test_other_programs_see_nothing_of_profiled_code(tmp_path: Path) -> None:
    for is_timed in (True, False, True):
        ti.init(kernel_profiler=is_timed, offline_cache_file_path=str(tmp_path))
        work, loss = timed_kernel()
        work()
        assert loss[None] == 0
        if is_timed:
            assert ti.profiler.query_kernel_profiler_info("work: much").counter == 1


def test_the_driver_of_a_gpu_is_told_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """For profilers of the GPU, as for ours."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub = stub_the_driver()
    ti.init(arch=ti.cuda, kernel_profiler=True)
    work, loss = timed_kernel()
    with ti.ad.Tape(loss):
        work()
    assert stub.mistakes == []
    symbols = {name for _, name in stub.handles.values()}
    assert {"work_0_much", "work_2_little"} <= symbols
    for name, count in ("work", 1), ("work.reverse", 1), ("work: much", 1):
        assert ti.profiler.query_kernel_profiler_info(name).counter == count
