"""Launches that come again in the same order: the driver is given graphs of them, and memory has
what it had without."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver
from runtime.cuda.stub import Stub

import mlirad as ti
import mlirad.quadrants as qd
from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.cuda.functions import GRAPHS
from mlirad.runtime.cuda.sequences.queue import LONGEST
from mlirad.runtime.cuda.sequences.sequences import Sequences
from mlirad.runtime.executors import EXECUTORS
from mlirad.runtime.program import program

N = 37  # elements
LAUNCHED, GRAPH, MADE = "cuLaunchKernel", "cuGraphLaunch", "cuGraphInstantiateWithFlags"
CARRIED = pytest.mark.filterwarnings("ignore:.*carries no derivative")
UPDATED = "cuGraphExecKernelNodeSetParams_v2"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A program on a stub, which was used as it may be."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    stub = stub_the_driver()
    ti.init(arch=ti.cuda, default_fp=ti.f64)
    yield stub
    assert stub.mistakes == []
    ti.reset()
    gc.collect()
    assert stub.mistakes == []


class Steps:
    """A field that launches change, and a loss."""

    def __init__(self, dtype: Any = ti.f64) -> None:
        x = ti.field(dtype, N, needs_grad=True)
        loss = ti.field(dtype, (), needs_grad=True)
        self.x, self.loss, self.start = x, loss, np.linspace(0.5, 1.5, N)

        @ti.kernel
        def scale(by: ti.f64, shift: ti.i32):
            for i in x:
                x[i] = x[i] * by + shift

        @ti.kernel
        def add_up():
            for i in x:
                loss[None] += x[i]

        self.scale, self.add_up = scale, add_up

    def forward(self, factors: Any) -> None:
        """As many launches, and a sum."""
        for factor in factors:
            self.scale(factor, 1)
        self.add_up()

    def gradient(self, factors: Any) -> None:
        """In a tape."""
        self.x.from_numpy(self.start)
        with ti.ad.Tape(self.loss):
            self.forward(factors)

    def check(self, factors: Any, rtol: float = 1e-12) -> None:
        """Compare with NumPy."""
        values = self.start
        for factor in factors:
            values = values * factor + 1
        np.testing.assert_allclose(self.x.to_numpy(), values, rtol=rtol)
        np.testing.assert_allclose(self.loss[None], values.sum(), rtol=rtol)
        np.testing.assert_allclose(self.x.grad.to_numpy(), np.full(N, np.prod(factors)), rtol=rtol)


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64])
def test_a_tape_that_repeats(cuda: Stub, dtype: Any) -> None:
    """It becomes graphs, and then nothing is launched but those."""
    steps, factors = Steps(dtype), [1.01] * 10  # rows of 8 launches and of 3
    for number in range(5):
        cuda.counts.clear()
        steps.gradient(factors)
        counts = dict(cuda.counts)
        steps.check(factors, 1e-5 if dtype == ti.f32 else 1e-12)
        if number > 2:  # the first launch of a kernel is made at once
            assert counts[GRAPH] == 4 and MADE not in counts
            assert counts[LAUNCHED] == 1  # the seed


def test_rows_are_cut(cuda: Stub) -> None:
    """Each is twice as long as the one before, up to a limit; equal rows are one graph."""
    steps, factors = Steps(), [1.001] * (4 * LONGEST)
    for _ in range(3):
        steps.gradient(factors)
        steps.check(factors)
    cuda.counts.clear()
    steps.gradient(factors)
    rows = [8, 16, 32, 64, 64, 64, 9]
    assert cuda.counts[GRAPH] == 2 * len(rows) and cuda.counts[LAUNCHED] == 1  # the seed
    lengths = {len(graph.nodes) for graph in cuda.graphs.executables.values()}
    assert {8, 16, 32, 64} <= lengths and max(lengths) == LONGEST
    steps.check(factors)


def test_arguments_that_change(cuda: Stub) -> None:
    """A graph takes other numbers for the launches that have them; each time they are right."""
    steps = Steps()
    for number in range(6):
        factors = [1.01] * 4 + [1.0 + 0.01 * number] + [0.99] * 4
        cuda.counts.clear()
        steps.gradient(factors)
        counts = dict(cuda.counts)
        steps.check(factors)
        if number > 2:
            assert counts[GRAPH] == 2 and MADE not in counts
            assert 1 <= counts[UPDATED] <= 2


def test_all_arguments_change(cuda: Stub) -> None:
    """In each run."""
    steps = Steps()
    for number in range(6):
        factors = [1.0 + 0.001 * (number + k) for k in range(9)]
        steps.gradient(factors)
        steps.check(factors)
    assert cuda.counts[UPDATED] > 9


def test_other_launches(cuda: Stub) -> None:
    """More, fewer, and in another order: each as it was asked for."""
    steps = Steps()
    for length in (5, 5, 5, 8, 5, 3, 8, 8, 0, 8, 1, 5):
        factors = [1.0 + 0.01 * length] * length
        steps.gradient(factors)
        steps.check(factors)


def test_python_writes_and_reads_between(cuda: Stub) -> None:
    """What it writes is there for the launches behind, what it reads has those before."""
    steps, factors = Steps(), [1.5] * 5
    for number in range(5):
        steps.start = np.linspace(0.0, 1.0 + number, N)
        steps.gradient(factors)
        steps.check(factors)
    x = steps.x
    graph = ti.graph.GraphBuilder()
    for _ in range(4):
        graph.dispatch(steps.scale, 2.0, 0)
    compiled = graph.compile()
    for number in range(5):
        x[3] = 1.0 + number
        compiled.run({})
        assert x[3] == 16.0 * (1.0 + number)


@CARRIED
def test_a_row_is_launched_before_anything_else(cuda: Stub) -> None:
    """Copies in the middle of a tape see what launches before them left."""
    steps = Steps()
    other = ti.field(ti.f64, N)
    for _ in range(4):
        steps.x.from_numpy(steps.start)
        with ti.ad.Tape(steps.loss):
            for _ in range(4):
                steps.scale(2.0, 0)
            other.copy_from(steps.x)
            assert steps.x[2] == 16.0 * steps.start[2]
            for _ in range(4):
                steps.scale(0.5, 0)
            steps.add_up()
        np.testing.assert_allclose(other.to_numpy(), 16.0 * steps.start)
        np.testing.assert_allclose(steps.x.to_numpy(), steps.start)


def graph_over_arrays() -> tuple[Any, Any]:
    """A graph of launches on an array by name, and one of them."""

    @ti.kernel
    def double(a: ti.types.ndarray(ti.f64, 1)):
        for i in a:
            a[i] = a[i] * 2.0

    builder = ti.graph.GraphBuilder()
    argument = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "a", ti.f64, ndim=1)
    for _ in range(4):
        builder.dispatch(double, argument)
    return builder.compile(), double


def test_arrays_that_are_freed(cuda: Stub) -> None:
    """A launch is of the array that it was given: of a new one at the place of an old one, too."""
    graph, _ = graph_over_arrays()
    for number in range(8):
        array = ti.ndarray(ti.f64, N + number % 2)
        array.fill(1.0 + number)
        for _ in range(3):
            graph.run({"a": array})
        np.testing.assert_array_equal(array.to_numpy(), (1.0 + number) * 2.0**12)
        del array
        gc.collect()
    assert cuda.counts[GRAPH] > 8


def test_two_arrays_in_turn(cuda: Stub) -> None:
    """Each has graphs."""
    graph, _ = graph_over_arrays()
    arrays = [ti.ndarray(ti.f64, N) for _ in range(2)]
    for array in arrays:
        array.fill(1.0)
    for _ in range(4):
        for array in arrays:
            graph.run({"a": array})
    for array in arrays:
        np.testing.assert_array_equal(array.to_numpy(), 2.0**16)


def test_arrays_of_the_host(cuda: Stub) -> None:
    """They go to the device for each launch, and come back."""
    graph, _ = graph_over_arrays()
    array = np.ones(N)
    for _ in range(3):
        graph.run({"a": array})
    np.testing.assert_array_equal(array, 2.0**12)


class OnDevice:
    """An array of another library, which sees our launches only if they are made."""

    def __init__(self, array: Any) -> None:
        self.__cuda_array_interface__ = {
            "data": (array.elements.place.address, False),
            "shape": (N,),
            "typestr": "<f8",
            "version": 3,
        }


def test_arrays_of_other_libraries(cuda: Stub) -> None:
    """Nothing is held back from them, from the first one on."""
    graph, double = graph_over_arrays()
    array = ti.ndarray(ti.f64, N)
    array.fill(1.0)
    for _ in range(4):
        graph.run({"a": array})
    assert cuda.counts[GRAPH]
    executor = program().executor
    executor.begin_sequence()
    for _ in range(2):
        double(array)
    before = cuda.counts[LAUNCHED]
    double(OnDevice(array))
    assert cuda.counts[LAUNCHED] == before + 3
    double(array)
    assert cuda.counts[LAUNCHED] == before + 4
    executor.end_sequence()
    np.testing.assert_array_equal(array.to_numpy(), 2.0**20)


@CARRIED
@pytest.mark.parametrize("options", [{}, {"debug": True}])
def test_kernels_that_return_or_assert(cuda: Stub, options: dict[str, Any]) -> None:
    """They are waited for in the middle of a row, and raise where they did."""
    ti.init(arch=ti.cuda, default_fp=ti.f64, **options)
    steps = Steps()
    x = steps.x

    @ti.kernel
    def first() -> ti.f64:
        return x[0]

    @ti.kernel
    def check(limit: ti.f64):
        for i in x:
            assert x[i] < limit, "too large"

    for number in range(4):
        x.from_numpy(steps.start)
        with ti.ad.Tape(steps.loss):
            for _ in range(4):
                steps.scale(2.0, 0)
            assert first() == steps.start[0] * 16.0
            for _ in range(4):
                steps.scale(0.5, 0)
            check(10.0)
            steps.add_up()
        np.testing.assert_array_equal(x.grad.to_numpy(), 1.0)
        if options and number > 1:
            with (
                pytest.raises(ti.TaichiAssertionError, match="too large"),
                ti.ad.Tape(steps.loss),
            ):
                for _ in range(4):
                    steps.scale(2.0, 0)
                check(10.0)


def test_histories(cuda: Stub) -> None:
    """A reverse that allocates for its launch, and one that reads a length before it."""
    x = ti.field(ti.f64, N, needs_grad=True)
    count = ti.field(ti.i32, N)
    loss = ti.field(ti.f64, (), needs_grad=True)
    count.from_numpy(np.arange(N, dtype=np.int32) % 5 + 60)

    @ti.kernel
    def grow():
        for i in x:
            v = x[i]
            for _ in range(count[i]):
                v = v * v * 0.5 + 0.25
            loss[None] += v

    start = np.linspace(0.1, 0.5, N)
    x.from_numpy(start)
    found = []
    for _ in range(4):
        with ti.ad.Tape(loss):
            for _ in range(4):
                grow()
        found.append(x.grad.to_numpy())
    value, slope = start, np.ones(N)
    for k in range(64):
        runs = k < count.to_numpy()
        slope = np.where(runs, slope * value, slope)
        value = np.where(runs, value * value * 0.5 + 0.25, value)
    for gradient in found:
        np.testing.assert_allclose(gradient, 4 * slope, rtol=1e-10)


def test_threads(cuda: Stub) -> None:
    """Tapes of two threads, whose launches come in between, and a third that reads."""
    many = [Steps() for _ in range(2)]
    problems: list[BaseException] = []

    def run(what: Callable[[], None]) -> None:
        try:
            for _ in range(6):
                what()
        except BaseException as problem:
            problems.append(problem)

    def look() -> None:
        assert np.isfinite(many[0].x.to_numpy()).all()

    def tape(steps: Steps) -> Callable[[], None]:
        def work() -> None:
            steps.gradient([1.1] * 7)
            steps.check([1.1] * 7)

        return work

    threads = [Thread(target=run, args=(what,)) for what in (*map(tape, many), look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_programs_one_after_the_other(cuda: Stub) -> None:
    """A graph goes with the kernels that it has; the next program's may have their handles."""
    for number in range(4):
        ti.init(arch=ti.cuda, default_fp=ti.f64)
        steps, factors = Steps(), [1.0 + 0.1 * number] * 6
        for _ in range(3):
            steps.gradient(factors)
            steps.check(factors)
        assert cuda.graphs.executables
        ti.reset()
        del steps
        gc.collect()
        assert not cuda.graphs.executables and not cuda.graphs.graphs


def test_a_kernel_goes_in_the_middle(cuda: Stub) -> None:
    """Of a tape that has launched it."""
    steps = Steps()
    for _ in range(3):
        steps.x.from_numpy(steps.start)
        with ti.ad.Tape(steps.loss):
            for factor in (2.0, 3.0, 4.0):
                _scaler(steps.x)(factor)
            gc.collect()
            steps.add_up()
        np.testing.assert_array_equal(steps.x.grad.to_numpy(), 24.0)


def _scaler(x: Any) -> Any:
    @ti.kernel
    def scale(by: ti.f64):
        for i in x:
            x[i] *= by

    return scale


def test_kernels_that_are_graphs(cuda: Stub) -> None:
    """The loops of one are launched together from the second time on."""
    x = qd.field(qd.f64, N)

    @qd.kernel(graph=True)
    def step(by: qd.f64):
        for i in x:
            x[i] = i * by
        for i in x:
            x[i] += 1.0
        for i in range(1):
            x[i] += x[N - 1]
        for i in x:
            x[i] *= 2.0

    for number in range(6):
        cuda.counts.clear()
        step(float(number % 2))
        counts = dict(cuda.counts)
        expected = np.arange(N) * float(number % 2) + 1.0
        expected[0] += expected[-1]
        np.testing.assert_array_equal(x.to_numpy(), 2.0 * expected)
    assert counts[GRAPH] == 1 and LAUNCHED not in counts


@pytest.mark.parametrize("length", [5, 40])
def test_an_interrupt(cuda: Stub, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """In the middle of a row's end, in Python or below host code: what was asked for is launched,
    and the program hears of it."""
    graph = ti.graph.GraphBuilder()
    steps = Steps()
    for _ in range(length):
        graph.dispatch(steps.scale, 1.0, 1)
    compiled = graph.compile()
    steps.x.fill(0.0)
    for _ in range(4):
        compiled.run({})
    find = Sequences._find

    def interrupted(self: Sequences, *arguments: Any) -> Any:
        monkeypatch.setattr(Sequences, "_find", find)
        raise KeyboardInterrupt

    monkeypatch.setattr(Sequences, "_find", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled.run({})
    done = 4 * length + min(length, 8)
    values = steps.x.to_numpy()
    assert set(values) <= {float(done), float(done + 1)}
    compiled.run({})
    np.testing.assert_array_equal(steps.x.to_numpy(), values + length)


class TestRefusals:
    """Launches are made where graphs are not."""

    @pytest.mark.parametrize("name", ["cuGraphCreate", "cuGraphAddKernelNode_v2", MADE, GRAPH])
    def test_a_driver_that_makes_none(self, cuda: Stub, name: str) -> None:
        steps, factors = Steps(), [1.25] * 6
        cuda.fail(name, CUresult.CUDA_ERROR_OUT_OF_MEMORY, behind=1)
        for _ in range(6):
            steps.gradient(factors)
            steps.check(factors)
        assert not cuda.graphs.executables

    def test_arguments_that_are_not_taken(self, cuda: Stub) -> None:
        steps = Steps()
        cuda.fail(UPDATED, CUresult.CUDA_ERROR_INVALID_VALUE, behind=1)
        for number in range(6):
            factors = [1.25, 1.0 + number, 1.25 + number, 1.0]
            steps.gradient(factors)
            steps.check(factors)
        assert not cuda.graphs.executables

    def test_a_driver_without_them(self, cuda: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
        functions = cuda.functions()
        for name in GRAPHS:
            del functions.addresses[name]
        assert not functions.has_graphs

    def test_an_illegal_address(self, cuda: Stub) -> None:
        """The next wait says so, with the launches that were gathered."""
        steps, factors = Steps(), [1.25] * 6
        for _ in range(3):
            steps.gradient(factors)
        cuda.blocks.clear()
        with pytest.raises(ti.TaichiRuntimeError, match="until the process is restarted"):
            program().executor.begin_sequence()
            for _ in range(4):
                steps.scale(1.0, 0)
            program().executor.end_sequence()
            ti.sync()
