"""Measure how many atomic sums per second a card makes, and how close mpm2d comes to that.

    python -m benchmarks.gpu.atomics

An atomic sum adds one, two or four numbers at once. With --arch=simt or --stub, and --quick, this
runs without a GPU; the figures then mean nothing.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

import mlirad as ti
from benchmarks.gpu.rehearsal import rehearse
from benchmarks.ptx_table import compiled_texts
from benchmarks.workload import passes_of
from benchmarks.workloads import mpm2d
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.program import program

WIDTHS = (1, 2, 4)  # numbers of an update
EACH = 8  # updates of a thread
ROUNDS = 10
SIDE, GRID = 51, 128  # of mpm2d: cells along an edge of the particles, and of the grid

Rates = dict[int, float]  # instructions of a thread, a second, for each width


def main() -> None:
    """Run the command line."""
    settings = _settings()
    if settings.stub:
        rehearse()
    threads = 1 << (12 if settings.quick else 20)
    print("| addresses | f32 | v2.f32 | v4.f32 | (10^9 a second) |\n|---|---|---|---|---|")
    rates: dict[str, Rates] = {}
    for name, places in _addresses(threads).items():
        rates[name] = {width: _rate(settings.arch, places, width) for width in WIDTHS}
        print(f"| {name} |", *(f"{rate / 1e9:.1f} |" for rate in rates[name].values()), flush=True)
    for line in _particles(settings.arch, 1_000 if settings.quick else 10**6, rates["few, any"]):
        print(line, flush=True)


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.atomics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--arch",
        default="cuda",
        metavar="ARCH",
        help="target; simt runs without a GPU (default: %(default)s)",
    )
    parser.add_argument(
        "--stub",
        action="store_true",
        help="run without a GPU, with a stub of the CUDA driver (default: use the driver)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes (default: full sizes)",
    )
    return parser.parse_args()


def _addresses(threads: int) -> dict[str, np.ndarray]:
    """Cells that threads update: those of mpm2d in any order and in theirs, and many."""
    random = np.random.default_rng(3)
    shape = EACH, threads
    few = random.integers(0, SIDE, shape) * GRID + random.integers(0, SIDE, shape)
    many = random.integers(0, 4 * threads, shape)
    return {"few, any": few, "few, in order": np.sort(few, axis=1), "many, any": many}


def _rate(arch: str, places: np.ndarray, width: int) -> float:
    """Updates a second, as one kernel makes them that does nothing else."""
    ti.init(arch=arch, enable_fallback=False)
    place = ti.field(ti.i32, places.shape)
    cells = int(places.max()) + 1
    cell = ti.field(ti.f32, cells) if width == 1 else ti.Vector.field(width, ti.f32, cells)
    place.from_numpy(places.astype(np.int32))
    term = 1.0 if width == 1 else ti.Vector([1.0] * width)

    @ti.kernel
    def update():
        for p in range(places.shape[1]):
            for k in ti.static(range(EACH)):
                cell[place[k, p]] += term

    seconds = _seconds(update)
    count = sum(_atomics("primal").values())
    ti.reset()
    return places.size / seconds if count == EACH else math.nan  # the chip has no vectors


def _particles(arch: str, size: int, rates: Rates) -> list[str]:
    """What mpm2d takes, and how much of that its atomics take at the card's rate."""
    ti.init(arch=arch, enable_fallback=False, random_seed=1)
    primal, gradient = passes_of(ti, mpm2d.build(ti, size))
    lines, passes = [], [("primal", primal, ["primal"]), ("gradient", gradient, ["primal", "rev"])]
    for name, run, modes in passes:
        seconds = _seconds(run, 3)
        counts = sum((_atomics(mode) for mode in modes), Counter())
        made = {width: number * size * mpm2d.STEPS for width, number in counts.items()}
        least = sum(number / rates[width] for width, number in made.items())
        text = ", ".join(f"{number} of {width}" for width, number in sorted(counts.items()))
        lines.append(
            f"mpm2d, {size} particles, {name}: {seconds * 1e3:.3g} ms; its atomics ({text} a "
            f"particle and step) alone {least * 1e3:.3g} ms, {least / seconds:.0%}"
        )
    ti.reset()
    return lines


def _seconds(run: Callable[[], None], rounds: int = ROUNDS) -> float:
    """The median of some rounds, after one that compiles."""
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        run()
        ti.sync()
        times.append(time.perf_counter() - start)
    return float(np.median(times[1:]))


def _atomics(mode: str) -> Counter[int]:
    """Atomic sums in the PTX of all kernels in a mode, by how many numbers each adds."""
    counts: Counter[int] = Counter()
    for text in compiled_texts("", _chip()):
        if text.title.split()[-1].startswith(mode):
            for width in re.findall(r"\b(?:red|atom)\.\S*?add\S*?(?:\.v(\d))?\.f32", text.ptx):
                counts[int(width or 1)] += 1
    return counts


def _chip() -> str:
    memory = program().executor.memory
    assert isinstance(memory, DeviceMemory)
    driver = memory.driver
    return driver.connection.chip if isinstance(driver, CudaDriver) else "sm_90"


if __name__ == "__main__":
    main()
