"""Workloads as a person's CUDA, compiled by nvcc: what a program by hand takes on this card.

The kernels are those of `by_hand.cu`, found by the variable MLIRAD_BY_HAND or beside the peers. As
in a user's program, what a kernel adds up is cleared by the driver before. Of the membrane the
comparison at the end is not timed: its adjoint is made once, on the host.
"""

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.driver import ROOT
from benchmarks.gpu.starts import start
from benchmarks.workloads.stencil2d import STEPS
from mlirad.runtime.cuda.cuda_driver import CudaDriver, cuda_driver

_PLACES = ("shared", "../shared", "../../shared", ".gpu")  # below the checkout
_BLOCKS = 2048  # of a sum


def source() -> Path | None:
    """The file of kernels, if there is one."""
    given = os.environ.get("MLIRAD_BY_HAND")
    files = [Path(given)] if given else [ROOT / one / "peers/gpu/by_hand.cu" for one in _PLACES]
    return next((file for file in files if file.is_file()), None)


class Kernels:
    """The kernels for grids of some size, loaded."""

    def __init__(self, driver: CudaDriver, size: int) -> None:
        file = source()
        if file is None:
            raise FileNotFoundError("by_hand.cu")
        text = file.read_text().replace("#define N 512", f"#define N {size}")
        self._connection = driver.connection
        self._module, image = ctypes.c_void_p(), _compiled(text, driver.connection.chip)
        place = ctypes.byref(self._module)
        self._connection.ask("load", "cuModuleLoadDataEx", place, image, 0, None, None)

    def launch(
        self, name: str, grid: Sequence[int], block: Sequence[int], *arguments: Any
    ) -> Callable[[], None]:
        """What launches a kernel."""
        function = ctypes.c_void_p()
        given = ctypes.byref(function), self._module, name.encode()
        self._connection.ask("find", "cuModuleGetFunction", *given)
        slots = [ctypes.c_int(one) if isinstance(one, int) else one for one in arguments]
        packed = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
        sizes = [*grid, *[1] * (3 - len(grid)), *block, *[1] * (3 - len(block)), 0]

        stream = self._connection.stream

        def run() -> None:
            self._connection.ask("launch", "cuLaunchKernel", function, *sizes, stream, packed, None)

        run.arguments = slots  # type: ignore[attr-defined]
        return run


def _compiled(text: str, chip: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "by_hand.cu"), Path(folder, "by_hand.ptx")
        given.write_text(text)
        command = ["nvcc", "-O3", "--use_fast_math", f"-arch={chip}", "-ptx", "-o", made, given]
        subprocess.run(command, check=True, capture_output=True)
        return made.read_bytes() + b"\0"


class Memory:
    """An array on the GPU."""

    def __init__(self, driver: CudaDriver, values: Any) -> None:
        self._driver, self._shape, self.size = driver, values.shape, values.nbytes
        self.address = driver.allocate(values.nbytes)
        driver.write(self.address, values.ctypes.data, values.nbytes)

    def at(self, number: int = 0, extent: int = 0) -> ctypes.c_uint64:
        """The address of a part, as an argument."""
        return ctypes.c_uint64(self.address + 4 * number * extent)

    def clear(self) -> None:
        """Set all to 0."""
        self._driver.fill(self.address, 0, self.size)

    def read(self, number: int | None = None) -> Any:
        """A copy, or one of a row."""
        values = np.empty(self._shape if number is None else self._shape[1:], np.float32)
        address = self.address + (number or 0) * values.nbytes
        self._driver.read(values.ctypes.data, address, values.nbytes)
        return values


class Program:
    """Launches of a loss, and of its gradient behind it; the loss, and the gradients, of the last
    time."""

    def __init__(
        self,
        driver: CudaDriver,
        forward: Callable[[], None],
        reverse: Callable[[], None],
        value: Callable[[], float],
        gradients: Callable[[], list[Any]],
    ) -> None:
        self._driver, self._forward, self._reverse = driver, forward, reverse
        self.value, self.gradients = value, gradients

    def primal(self) -> None:
        """The loss."""
        self._forward()
        self._driver.synchronize()

    def gradient(self) -> None:
        """The loss and the gradients."""
        self._forward()
        self._reverse()
        self._driver.synchronize()


def build(case: str, size: int, arch: str, steps: int) -> Program:
    """One of them. Raises KeyError for a workload that is not there, FileNotFoundError without
    `by_hand.cu` or nvcc, UnavailableError without a GPU."""
    driver = cuda_driver()
    return PROGRAMS[case](driver, Kernels(driver, size), size, steps)


def _of(driver: CudaDriver, values: Any) -> Memory:
    return Memory(driver, np.ascontiguousarray(values, np.float32))


def _reading(*arrays: Memory) -> Callable[[], list[Any]]:
    return lambda: [array.read() for array in arrays]


def _loss(driver: CudaDriver) -> tuple[Memory, Memory]:
    return _of(driver, np.zeros(1)), _of(driver, np.ones(1))


def _saxpy_sum(driver: CudaDriver, kernels: Kernels, size: int, steps: int) -> Program:
    x, y = (_of(driver, array) for array in start("saxpy_sum", size).values())
    gradients = [_of(driver, np.zeros(size)) for _ in range(2)]
    loss, seed = _loss(driver)
    given = [one.at() for one in (x, y, loss)]
    add = kernels.launch("saxpy_sum", [_BLOCKS], [256], *given, size)
    given[2:] = [one.at() for one in (seed, *gradients)]
    back = kernels.launch("saxpy_sum_reverse", [-(-size // 1024)], [256], *given, size)

    def forward() -> None:
        loss.clear()
        add()

    def reverse() -> None:
        for one in gradients:
            one.clear()
        back()

    return Program(driver, forward, reverse, lambda: float(loss.read()[0]), _reading(*gradients))


def _stencil2d(driver: CudaDriver, kernels: Kernels, size: int, steps: int) -> Program:
    steps, cells, arrays = steps or STEPS, size * size, start("stencil2d", size)
    states, adjoints = (_of(driver, np.zeros((steps, size, size))) for _ in range(2))
    for number in range(2):
        address = arrays["start"].ctypes.data
        driver.write(states.address + 4 * number * cells, address, 4 * cells)
    grid, block = [-(-size // 32), -(-size // 8)], [32, 8]

    def step(name: str, memory: Memory, *times: int) -> Callable[[], None]:
        return kernels.launch(name, grid, block, *(memory.at(t, cells) for t in times))

    there = [step("swing", states, t - 1, t - 2, t) for t in range(2, steps)]
    back = [step("swing_reverse", adjoints, t, t - 1, t - 2) for t in range(steps - 1, 1, -1)]
    seed = np.zeros((size, size), np.float32)

    def last() -> Any:
        return states.read(steps - 1) - arrays["wanted"]

    def forward() -> None:
        for launch in there:
            launch()

    def reverse() -> None:
        if not seed.any():
            seed[:] = 2 * last() / cells
        adjoints.clear()
        address = adjoints.address + 4 * (steps - 1) * cells
        driver.write(address, seed.ctypes.data, seed.nbytes)
        for launch in back:
            launch()

    def gradients() -> list[Any]:
        return [adjoints.read(0) + adjoints.read(1)]

    return Program(driver, forward, reverse, lambda: float((last() ** 2).mean()), gradients)


def _nbody(driver: CudaDriver, kernels: Kernels, size: int, steps: int) -> Program:
    place, mass = (_of(driver, array) for array in start("nbody", size).values())
    gradient, (energy, seed) = _of(driver, np.zeros((size, 3))), _loss(driver)
    given, grid = [place.at(), mass.at()], [size // 128]
    add = kernels.launch("potential", grid, [128], *given, energy.at(), size)
    back = kernels.launch("potential_reverse", grid, [128], *given, seed.at(), gradient.at(), size)

    def forward() -> None:
        energy.clear()
        add()

    def reverse() -> None:
        gradient.clear()
        back()

    return Program(driver, forward, reverse, lambda: float(energy.read()[0]), _reading(gradient))


PROGRAMS: dict[str, Callable[[CudaDriver, Kernels, int, int], Program]] = {
    "saxpy_sum": _saxpy_sum,
    "stencil2d": _stencil2d,
    "nbody": _nbody,
}
