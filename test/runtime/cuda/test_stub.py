"""The stub of CUDA's driver finds what is used, or given back, too early or too late; programs do
neither, whatever order their pieces end in."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from runtime.cuda.machine import stub_the_driver
from runtime.cuda.stub import Kernel, Stub

import mlirad as ti
from mlirad.runtime.cuda.constants import CUresult
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.executors import EXECUTORS

PTX = b".target sm_90\n.visible .entry k(\n"
SIZES = (1, 1, 1, 1, 1, 1)
IN_USE = "is given back while the stream uses it"


@pytest.fixture
def stub() -> Stub:
    return Stub()


@pytest.fixture
def driver(stub: Stub) -> CudaDriver:
    return CudaDriver(stub.functions())


def load(stub: Stub, driver: CudaDriver, kernel: Kernel) -> tuple[int, int]:
    """A module with one kernel, and its function."""
    stub.next_kernels = {"k": kernel}
    place = ctypes.c_void_p()
    driver.connection.ask("load", "cuModuleLoadDataEx", ctypes.byref(place), PTX, 0, None, None)
    module = place.value or 0
    driver.connection.ask("look", "cuModuleGetFunction", ctypes.byref(place), module, b"k")
    return module, place.value or 0


def launch(driver: CudaDriver, function: int, *addresses: int) -> None:
    """Run a kernel of pointers."""
    values = [ctypes.c_uint64(address) for address in addresses]
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    stream = driver.connection.stream
    driver.connection.ask("launch", "cuLaunchKernel", function, *SIZES, 0, stream, places, None)


def test_page_locked_memory_that_a_kernel_writes_to(stub: Stub, driver: CudaDriver) -> None:
    """It lives until the kernel has run."""
    _, function = load(stub, driver, Kernel(["!llvm.ptr"], lambda places: None))
    locked = [driver.page_locked(8) for _ in range(2)]
    for address in locked:
        launch(driver, function, address)
    driver.free_page_locked(locked[0])
    assert stub.mistakes == [f"page-locked memory {IN_USE}"]
    driver.free_page_locked(locked[1])  # which the stream has passed
    assert len(stub.mistakes) == 1


def test_page_locked_memory_that_is_copied(stub: Stub, driver: CudaDriver) -> None:
    """What is in it when the stream comes there is copied."""
    address, locked = driver.allocate(8), driver.page_locked(8)
    ctypes.memset(locked, 1, 8)
    stream = driver.connection.stream
    driver.connection.ask("copy", "cuMemcpyHtoDAsync_v2", address, locked, 8, stream)
    ctypes.memset(locked, 2, 8)
    sent = ctypes.create_string_buffer(8)
    driver.read(ctypes.addressof(sent), address, 8)
    assert sent.raw == b"\2" * 8
    driver.connection.ask("copy", "cuMemcpyHtoDAsync_v2", address, locked, 8, stream)
    driver.free_page_locked(locked)
    assert stub.mistakes == [f"page-locked memory {IN_USE}"]


def test_a_module_whose_kernel_is_launched(stub: Stub, driver: CudaDriver) -> None:
    """It is unloaded behind it."""
    module, function = load(stub, driver, Kernel([], lambda places: None))
    launch(driver, function)
    driver.connection.ask("unload", "cuModuleUnload", module)
    assert stub.mistakes == [f"a module {IN_USE}"]
    module, function = load(stub, driver, Kernel([], lambda places: None))
    launch(driver, function)
    driver.connection.unload(module, [function])
    assert len(stub.mistakes) == 1 and stub.modules == {}


@pytest.mark.parametrize("way", ["written", "unmapped"])
def test_the_target_of_a_copy(stub: Stub, driver: CudaDriver, way: str) -> None:
    """Nobody has it until the copy is there."""
    size = 1 << 20
    address, target = driver.allocate(size), np.empty(size, np.uint8)
    where, stream = target.ctypes.data, driver.connection.stream
    driver.connection.ask("copy", "cuMemcpyDtoHAsync_v2", where, address, size, stream)
    if way == "written":
        target[size // 2] = 0
    else:
        del target  # so much is a mapping of its own
    driver.synchronize()
    assert stub.mistakes == ["a copy finds its target freed, or written to"]


@pytest.mark.parametrize("stray", ["ILLEGAL_ADDRESS", "INVALID_ADDRESS_SPACE"])
def test_memory_that_was_freed_is_nobodys(stray: str) -> None:
    """Cards have two answers."""
    stub = Stub(stray=CUresult[f"CUDA_ERROR_{stray}"])
    driver = CudaDriver(stub.functions())
    _, function = load(stub, driver, Kernel(["!llvm.ptr"], lambda places: None))
    address = driver.allocate(8)
    driver.free(address)
    launch(driver, function, address)
    with pytest.raises(ti.TaichiRuntimeError, match=rf"{stray}.*process is restarted"):
        driver.synchronize()


def test_a_write_beyond_an_allocation(stub: Stub, driver: CudaDriver) -> None:
    """It is told when that is freed."""
    address, locked = driver.allocate(10), driver.page_locked(10)
    for block in (*stub.blocks.values(), *stub.locked.values()):
        ctypes.memset(block.start + 10, 0, 1)
    driver.free(address)
    driver.free_page_locked(locked)
    beyond = "something wrote beyond"
    assert stub.mistakes == [f"{beyond} an allocation", f"{beyond} page-locked memory"]


class TestPrograms:
    """Whatever goes first: fields, kernels, results, tapes, the program."""

    @pytest.fixture
    def cuda(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
        """What `arch=ti.cuda` runs on; nobody uses it when all has ended."""
        monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
        made = stub_the_driver()
        yield made
        ti.reset()
        gc.collect()
        assert made.mistakes == [] and not made.broken and made.allocations == 0

    @pytest.mark.parametrize("stray", ["ILLEGAL_ADDRESS", "INVALID_ADDRESS_SPACE"])
    @pytest.mark.parametrize("far", [1 << 10, 1 << 26, 1 << 60])
    def test_an_address_that_is_nobodys(
        self, monkeypatch: pytest.MonkeyPatch, far: int, stray: str
    ) -> None:
        """Of a kernel's own, a page away or out of all bounds; who waits is told."""
        monkeypatch.setitem(EXECUTORS, "cuda", EXECUTORS["cuda"])
        stub_the_driver().stray = CUresult[f"CUDA_ERROR_{stray}"]
        ti.init(arch=ti.cuda)
        x = ti.field(ti.f32, 16)

        @ti.kernel
        def astray(far: ti.i64):
            for i in range(16):
                x[i * far] = 1.0

        astray(1)
        ti.sync()
        astray(far)
        with pytest.raises(ti.TaichiRuntimeError, match=rf"{stray}.*'astray'"):
            ti.sync()
        ti.reset()

    @staticmethod
    def pieces(number: int) -> dict[str, Any]:
        """What a program holds, some of it in the stream."""
        ti.init(arch=ti.cuda, default_fp=ti.f64)
        x, loss = ti.field(ti.f64, 50, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        array = ti.ndarray(ti.f64, 50)

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] ** 3

        @ti.kernel
        def total(a: ti.types.ndarray(), by: ti.f64) -> ti.f64:
            s = 0.0
            for i in range(50):
                a[i] += by * x[i]
                s += a[i]
            return s

        x.from_numpy(np.full(50, float(number)))
        array.fill(1.0)
        tape = ti.ad.Tape(loss)
        with tape:
            energy()
        assert total(array, 2.0) == 50 * (1.0 + 2.0 * number)
        assert x.grad[7] == 3.0 * number**2
        host = np.ones(50)
        total(host, 1.0)
        energy()  # which nobody waits for
        return {name: value for name, value in locals().items() if name != "number"}

    @pytest.mark.parametrize("seed", range(3))
    def test_pieces_end_in_any_order(self, cuda: Stub, seed: int) -> None:
        """By counts of references, or by the collector."""
        random = Random(seed)
        gc.disable()
        try:
            for number in range(2):
                held = self.pieces(number)
                names = random.sample(sorted(held), len(held))
                for name in names:
                    del held[name]
                    if random.random() < 0.2:
                        gc.collect()
                    if random.random() < 0.1:
                        ti.reset()
        finally:
            gc.enable()

    def test_programs_in_a_loop(self, cuda: Stub) -> None:
        """Each ends the one before it, whose pieces are still there."""
        held = [self.pieces(number) for number in range(3)]
        held.reverse()
        while held:
            held.pop()
            gc.collect()
