"""Programs on `arch=ti.cuda`, over a stub of the driver that does what it is asked for as late as
it may."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Thread, get_ident
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver
from runtime.cuda.stub import Stub

import mlirad as ti
from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.executors import EXECUTORS

N = 100
_ANOTHERS = 0xA0  # a context


def fields() -> tuple[Any, Any]:
    """Numbers, and a number."""
    x = ti.field(ti.f64, N, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)
    return x, loss


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """What `arch=ti.cuda` runs on; afterwards it was used as it may be."""
    monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
    made = stub_the_driver()
    yield made
    assert made.mistakes == []


@pytest.fixture
def cuda(stub: Stub) -> Stub:
    """A program on it."""
    ti.init(arch=ti.cuda, default_fp=ti.f64)
    return stub


def test_transfers(cuda: Stub) -> None:
    """What Python writes it reads, all of it or an element."""
    x, loss = fields()
    numbers = np.linspace(0.0, 1.0, N)
    x.from_numpy(numbers)
    np.testing.assert_array_equal(x.to_numpy(), numbers)
    x[3], loss[None] = 7.0, 8.0
    assert x[3] == 7.0 and x[4] == numbers[4] and loss[None] == 8.0
    x.fill(2.0)
    np.testing.assert_array_equal(x.to_numpy(), np.full(N, 2.0))


def test_an_array_without_elements(cuda: Stub) -> None:
    """It has no memory on the GPU, and no address of the host's there."""

    @ti.kernel
    def add_up(none: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in out:
            for k in range(none.shape[0]):
                out[i] += none[k]

    out = np.ones(3)
    add_up(np.zeros(0), out)
    np.testing.assert_array_equal(out, 1)


def test_a_kernel_that_does_nothing(cuda: Stub) -> None:
    """No module, no launch."""

    @ti.kernel
    def nothing():
        pass

    nothing()
    nothing()
    assert not [call for call in cuda.log if "Launch" in str(call) or "Module" in str(call)]
    cuda.counts.clear()
    nothing()
    assert not cuda.counts


def test_kernels_are_called_anything(cuda: Stub) -> None:
    """Also what code of the host, around them, has names for."""
    x, _ = fields()

    @ti.kernel
    def note() -> None:
        for i in x:
            x[i] = 2.0

    @ti.kernel
    def known() -> None:
        for i in x:
            x[i] += 3.0

    @ti.kernel
    def stream() -> None:
        for i in x:
            x[i] *= 5.0

    for kernel in (note, known, stream):
        kernel()
    assert x[N - 1] == 25.0


def test_launches_are_in_the_order_of_writes_and_reads(cuda: Stub) -> None:
    """Nobody waits but for what is read."""
    x, loss = fields()

    @ti.kernel
    def double():
        for i in x:
            x[i] = 2.0 * x[i] + loss[None]

    expected = np.arange(float(N))
    x.from_numpy(expected)
    double()
    cuda.counts.clear()
    for step in range(5):
        loss[None] = step
        double()
    assert cuda.counts["cuLaunchKernel"] == 5
    assert cuda.counts["cuStreamSynchronize"] == 0
    for number in (0.0, *range(5)):
        expected = 2.0 * expected + number
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert cuda.counts["cuStreamSynchronize"] == 1


def test_results_are_waited_for(cuda: Stub) -> None:
    """Of every type, side by side."""

    @ti.kernel
    def both(a: ti.i32, b: ti.f32) -> ti.f64:
        s = 0.0
        for i in range(N):
            s += ti.cast(a, ti.f64) * b + i
        return s

    @ti.kernel
    def negative(a: ti.i32) -> ti.i32:
        return -a

    assert both(3, 0.5) == N * 1.5 + N * (N - 1) / 2
    assert [negative(k) for k in (1, -2, 2**31 - 1)] == [-1, 2, 1 - 2**31]


def test_a_kernel_is_loaded_once_and_unloaded_with_its_program(cuda: Stub) -> None:
    """And its functions are looked up once."""
    x, _ = fields()

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1.0
        for i in x:
            x[i] *= 2.0

    for _ in range(10):
        step()
    assert cuda.counts["cuModuleLoadDataEx"] == 1
    assert cuda.counts["cuModuleGetFunction"] == 2
    assert cuda.counts["cuLaunchKernel"] == 20
    ti.reset()
    gc.collect()
    assert cuda.modules == {}


def launch_often(cuda: Stub) -> None:
    """Ten thousand launches, some with results."""
    _, loss = fields()

    @ti.kernel
    def add(a: ti.f64) -> ti.f64:
        s = 0.0
        for _ in range(2):
            s += a
        return s

    @ti.kernel
    def count(a: ti.f64):
        for _ in range(1):
            loss[None] += a

    add(1.0)
    count(1.0)
    before = cuda.allocations
    for _ in range(2000):
        add(1.0)
    for _ in range(8000):
        count(1.0)
    after = cuda.allocations
    assert loss[None] == 8001.0
    assert after == before


def test_nothing_is_left_behind_by_ten_thousand_launches(cuda: Stub) -> None:
    """Nor by the program, when it has ended."""
    launch_often(cuda)
    ti.reset()
    gc.collect()
    assert cuda.allocations == 0


def test_assertions_are_raised_by_their_launch(cuda: Stub) -> None:
    """With the numbers of one failure, and the next launch is a fresh one."""
    ti.init(arch=ti.cuda, debug=True)
    x = ti.field(ti.i32, N)

    @ti.kernel
    def check(limit: ti.i32):
        for i in x:
            assert x[i] < limit, "too large"

    check(1)
    x[5] = 3
    with pytest.raises(ti.TaichiAssertionError, match=r"test_cuda\.py:\d+.*too large"):
        check(1)
    check(4)


def test_indices_are_checked(cuda: Stub) -> None:
    """The first failure is told, by one of many threads."""
    ti.init(arch=ti.cuda, debug=True)
    x = ti.field(ti.i32, N)

    @ti.kernel
    def shift(by: ti.i32):
        for i in range(N):
            x[i + by] = i

    shift(0)
    with pytest.raises(ti.TaichiAssertionError, match=r"test_cuda\.py:\d+"):
        shift(N // 2)


class TestDerivatives:
    """A tape and its kin."""

    def test_a_tape(self, cuda: Stub) -> None:
        """Over steps in place."""
        x, loss = fields()

        @ti.kernel
        def step():
            for i in x:
                x[i] = 0.5 * x[i] * x[i]

        @ti.kernel
        def add():
            for i in x:
                loss[None] += x[i]

        start = np.linspace(1.0, 2.0, N)
        x.from_numpy(start)
        with ti.ad.Tape(loss):
            for _ in range(4):
                step()
            add()
        value, slope = start, np.ones(N)
        for _ in range(4):
            value, slope = 0.5 * value * value, slope * value
        np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-12)
        np.testing.assert_allclose(loss[None], value.sum(), rtol=1e-12)

    def test_a_checkpointed_loop(self, cuda: Stub) -> None:
        """States stay on the device."""
        x, loss = fields()

        @ti.kernel
        def step():
            for i in x:
                x[i] = ti.sin(x[i])

        @ti.kernel
        def add():
            for i in x:
                loss[None] += x[i]

        start = np.linspace(0.1, 1.0, N)
        x.from_numpy(start)
        with ti.ad.Tape(loss):
            for _ in ti.ad.checkpointed(range(6), state=[x], snapshots=2):
                step()
            add()
        value, slope = start, np.ones(N)
        for _ in range(6):
            value, slope = np.sin(value), slope * np.cos(value)
        np.testing.assert_allclose(x.grad.to_numpy(), slope, rtol=1e-12)

    def test_forward_mode(self, cuda: Stub) -> None:
        """Along one direction."""
        x, loss = fields()

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] ** 3

        numbers = np.linspace(0.0, 1.0, N)
        x.from_numpy(numbers)
        with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0] * N):
            energy()
        np.testing.assert_allclose(loss.dual[None], (3 * numbers**2).sum(), rtol=1e-12)


def test_draws_are_those_of_the_cpu(cuda: Stub) -> None:
    """Number for number."""

    def drawn(arch: str) -> np.ndarray[Any, Any]:
        ti.init(arch=arch, random_seed=7)
        x = ti.field(ti.f32, N)

        @ti.kernel
        def draw():
            for i in x:
                x[i] = ti.random() + ti.random(ti.i32)

        draw()
        return x.to_numpy()

    np.testing.assert_array_equal(drawn(ti.cuda), drawn(ti.cpu))


def test_two_threads(cuda: Stub) -> None:
    """Each launches, writes and reads; each has the context, which it got once."""
    x = ti.field(ti.f64, (2, N))

    @ti.kernel
    def add(row: ti.i32, a: ti.f64) -> ti.f64:
        s = 0.0
        for i in range(N):
            x[row, i] += a
        for i in range(N):
            s += x[row, i]
        return s

    add(0, 0.0)
    found: list[list[float]] = [[], []]

    def work(row: int) -> None:
        for _ in range(50):
            found[row].append(add(row, 1.0 + row))

    threads = [Thread(target=work, args=(row,)) for row in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in range(2):
        np.testing.assert_array_equal(found[row], N * (1.0 + row) * np.arange(1, 51))
    assert set(map(len, cuda.contexts.values())) == {1}
    assert not cuda.counts["cuCtxPushCurrent_v2"]


def test_the_context_of_another_library(cuda: Stub) -> None:
    """It is there again behind each launch, write and read."""
    x, _ = fields()

    @ti.kernel
    def count():
        for i in x:
            x[i] += 1.0

    count()
    cuda.contexts[get_ident()][:] = [_ANOTHERS]
    count()
    x[1] = 5.0
    count()
    assert x[1] == 6.0 and x[0] == 3.0
    assert cuda.contexts[get_ident()] == [_ANOTHERS]
    assert cuda.counts["cuCtxPushCurrent_v2"] == cuda.counts["cuCtxPopCurrent_v2"] > 0


class TestFailures:
    """Each names the kernel and its line, and says whether the program can go on."""

    @staticmethod
    def filler() -> tuple[Any, Any]:
        x = ti.field(ti.f64, N)

        @ti.kernel
        def fill(a: ti.f64):
            for i in x:
                x[i] = a

        return x, fill

    def test_a_launch(self, cuda: Stub) -> None:
        """What comes behind it in the same call is not done; the next call is."""
        x, _ = fields()

        @ti.kernel
        def three():
            for i in x:
                x[i] += 1.0
            for i in x:
                x[i] *= 10.0
            for i in x:
                x[i] += 3.0

        three()
        cuda.fail("cuLaunchKernel", CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, behind=1)
        cuda.counts.clear()
        with pytest.raises(
            ti.TaichiRuntimeError,
            match=r"test_cuda\.py:\d+.*could not launch a loop of kernel 'three'.*"
            r"LAUNCH_OUT_OF_RESOURCES.*the program can continue",
        ) as caught:
            three()
        assert "x[i] *= 10.0" not in str(caught.value) and "for i in x" in str(caught.value)
        assert "1004 registers" in str(caught.value) and "1001 bytes of shared" in str(caught.value)
        assert cuda.counts["cuLaunchKernel"] == 2
        assert x[0] == 14.0  # of 1 + 13
        three()
        assert x[0] == 153.0

    def test_memory_runs_out(self, cuda: Stub) -> None:
        """The bytes that were asked for, and those that there are."""
        cuda.total = 1 << 20
        x, fill = self.filler()
        fill(1.0)
        with pytest.raises(ti.TaichiMemoryError, match=r"1\.0 MiB"):
            y = ti.field(ti.f64, 1 << 18)
            y[0] = 1.0
        assert x[0] == 1.0

    def test_an_illegal_address_ends_it(self, cuda: Stub) -> None:
        """Every later call says what ended it."""
        x, fill = self.filler()
        fill(1.0)
        ti.sync()
        cuda.blocks.clear()
        fill(2.0)
        for _ in range(2):
            with pytest.raises(
                ti.TaichiRuntimeError,
                match=r"ILLEGAL_ADDRESS.*last launches: 'fill' \(.*test_cuda\.py:\d+.*"
                r"until the process is restarted",
            ):
                ti.sync()
        with pytest.raises(ti.TaichiRuntimeError, match="until the process is restarted"):
            fill(3.0)
        del x, fill
        ti.reset()

    def test_a_chip_that_the_ptx_is_not_for(self, cuda: Stub) -> None:
        """Or a driver that is older than the PTX."""
        x, fill = self.filler()
        for result, name in ((209, "NO_BINARY_FOR_GPU"), (222, "UNSUPPORTED_PTX_VERSION")):
            cuda.fail("cuModuleLoadDataEx", result)
            with pytest.raises(
                ti.TaichiRuntimeError,
                match=r"test_cuda\.py:\d+.*could not load kernel 'fill' \(PTX for sm_90, by a "
                rf"driver for CUDA 13\.0\).*{name}.*the program can continue",
            ):
                fill(1.0)
        fill(1.0)
        assert x[0] == 1.0

    def test_a_function_of_a_library_that_is_not_there(
        self, cuda: Stub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At its line, with what to install."""
        monkeypatch.setattr("mlirad.pipeline.ptx.libdevice", lambda: None)
        x = ti.field(ti.f64, N)

        @ti.kernel
        def wave():
            for i in x:
                x[i] = ti.sin(x[i])

        with pytest.raises(
            ti.TaichiCompilationError,
            match=r"(?s)test_cuda\.py:\d+:\d+: '__nv_sin' .* install 'mlirad\[cuda\]'.*ti\.sin",
        ):
            wave()

    def test_ptx_that_is_not_taken(self, cuda: Stub) -> None:
        """With what its compiler says."""
        x, fill = self.filler()
        cuda.jit_log = b"ptxas error: Unknown modifier '.cute'"
        with pytest.raises(
            ti.TaichiRuntimeError,
            match=r"(?s)test_cuda\.py:\d+.*could not load kernel 'fill' .*INVALID_PTX.*Unknown mod",
        ):
            fill(1.0)
        cuda.jit_log = b""
        fill(1.0)
        assert x[0] == 1.0


def test_programs_one_after_the_other(cuda: Stub) -> None:
    """Share the context and the stream."""
    for number in range(3):
        ti.init(arch=ti.cuda)
        x, fill = TestFailures.filler()
        fill(number)
        assert x[N - 1] == number
        ti.reset()
    assert cuda.counts["cuStreamCreate"] == cuda.counts["cuDevicePrimaryCtxRetain"] == 1
