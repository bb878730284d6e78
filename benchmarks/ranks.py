"""Measure what several ranks gain on this machine, and fit a model that extends to 10,000 ranks.

    python -m benchmarks.ranks --figure docs/ranks.png

The wave of `mlirad.examples.ranks.waves` runs forward and reverse: on the same grid for any number
of ranks (strong scaling), and with the same number of cells per rank (weak scaling). Messages of
several sizes are timed too. The model has terms for compute, latency and bandwidth. It ignores
networks (the ranks here share the memory of one machine), ranks that wait for the slowest one,
cores that share caches and memory, and the naps of ranks that share a processor.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CELLS, STEPS, REPEATS = 1024, 20, 5
SIZES = (1, 64, 1024, 16_384, 131_072, 1_048_576)  # doubles a message
EXCHANGES = 2  # of a step: one forward, one in reverse
LARGE = 10**8  # cells of the strong scaling that is predicted


@dataclass(frozen=True)
class Model:
    """Seconds: of a cell and step on one rank; of a message, and of each byte of it; of a
    communication in Python; of agreeing on it, for each doubling of the ranks."""

    cell: float
    latency: float
    byte: float
    python: float
    agreement: float

    def step(self, cells: float, ranks: float) -> float:
        """A step, forward and reverse, of a square cut into squares."""
        own = cells / ranks
        if ranks == 1:
            return self.cell * own
        message = self.latency + self.byte * 8 * own**0.5
        talk = EXCHANGES * (4 * message + self.python + self.agreement * np.log2(ranks))
        return self.cell * own + float(talk)


def least(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The shortest of several runs, begun together."""
    from mpi4py import MPI

    found = []
    for _ in range(repeats):
        MPI.COMM_WORLD.Barrier()
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return float(MPI.COMM_WORLD.allreduce(min(found), MPI.MAX))


def wave(cells: int) -> tuple[float, int]:
    """Seconds of a step, forward and reverse, and the bytes of the fields of the largest rank."""
    from mpi4py import MPI

    import mlirad as ti
    from mlirad import dist
    from mlirad.examples.ranks.waves import Waves

    dist.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    program = Waves(cells, STEPS)

    def gradient() -> None:
        with ti.ad.Tape(program.loss):
            program.run()

    gradient()
    fields = (program.source, program.height, program.speed, program.heard)
    size = sum(int(np.prod(one.shape)) * 8 * (2 if one.grad is not None else 1) for one in fields)
    return least(gradient) / STEPS, MPI.COMM_WORLD.allreduce(size, MPI.MAX)


def messages() -> list[float]:
    """Seconds of a message from rank 0 to 1 and back, halved, for each size; without derivatives,
    with the agreement that precedes each."""
    import mlirad as ti
    from mlirad import dist

    dist.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    rank = dist.rank()
    other = 1 - rank if rank < 2 else None

    def there_and_back(size: int) -> float:
        given, taken = ti.ndarray(ti.f64, size), ti.ndarray(ti.f64, size)

        def both() -> None:
            for to, origin in ((0, 1), (1, 0)):
                target, source = (other if rank == one else None for one in (to, origin))
                sent = given if target is not None else None
                dist.sendrecv(sent, taken if source is not None else None, target, source)

        both()
        return least(both, 20) / 2

    return [there_and_back(size) for size in SIZES]


def agreement() -> tuple[float, float]:
    """Seconds of a sum of one number over all ranks: by `dist.allreduce`, and by MPI alone."""
    from mpi4py import MPI

    import mlirad as ti
    from mlirad import dist

    dist.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    part, whole = ti.field(ti.f64, ()), ti.field(ti.f64, ())
    one, other = np.zeros(1), np.zeros(1)
    dist.allreduce(part, whole)
    return (
        least(lambda: dist.allreduce(part, whole), 50),
        least(lambda: MPI.COMM_WORLD.Allreduce(one, other), 50),
    )


def measure() -> None:
    """In each rank; the first one prints what it found."""
    from mpi4py import MPI

    ranks = MPI.COMM_WORLD.size
    strong, size = wave(CELLS)
    weak, _ = wave(round(CELLS * ranks**0.5))
    found = {
        "ranks": ranks,
        "strong": strong,
        "weak": weak,
        "bytes": size,
        "messages": messages() if ranks > 1 else [],
        "sum": agreement(),
    }
    if MPI.COMM_WORLD.rank == 0:
        print("found " + json.dumps(found), flush=True)


def launched(ranks: int) -> dict[str, object]:
    """The measurements of so many ranks. Raises RuntimeError where they fail."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [str(mpiexec), "-n", str(ranks), sys.executable, "-m", "benchmarks.ranks", "--rank"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("found "):
            return dict(json.loads(line.removeprefix("found ")))
    raise RuntimeError(f"{ranks} ranks:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def fitted(rows: Sequence[dict]) -> Model:
    """Compute from one rank, messages and sums from two."""
    one, two = rows[0], rows[1]
    bytes_, seconds = 8 * np.array(SIZES), np.array(two["messages"])
    alone, agreed = one["sum"][0], two["sum"][0]
    byte = float((seconds[-1] - seconds[-2]) / (bytes_[-1] - bytes_[-2]))
    latency = max(0.0, float(seconds[0]) - agreed)
    return Model(one["strong"] / CELLS**2, latency, byte, alone, max(0.0, agreed - alone))


def draw(rows: Sequence[dict], model: Model, figure: Path) -> None:
    """Measured and predicted times of a step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    ranks = np.geomspace(1, 10_000, 200)
    drawn, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for cells, label in ((CELLS**2, f"{CELLS}² cells"), (LARGE, "10⁸ cells")):
        left.plot(ranks, [1e3 * model.step(cells, p) for p in ranks], label=f"model, {label}")
    measured = [row["ranks"] for row in rows]
    left.plot(measured, [1e3 * row["strong"] for row in rows], "ko", label="measured")
    left.set(xscale="log", yscale="log", xlabel="ranks", ylabel="ms a step", title="same grid")
    alone = model.step(CELLS**2, 1)
    right.plot(ranks, [alone / model.step(CELLS**2 * p, p) for p in ranks], label="model")
    right.plot(measured, [rows[0]["weak"] / row["weak"] for row in rows], "ko", label="measured")
    right.set(xscale="log", ylim=(0, 1.1), xlabel="ranks", title="same cells a rank: efficiency")
    for axes in (left, right):
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    drawn.tight_layout()
    drawn.savefig(figure, dpi=90)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ranks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="picture of the measurements and of the model (default: no picture)",
    )
    parser.add_argument(
        "--ranks",
        type=int,
        nargs="*",
        default=[1, 2, 4],
        metavar="COUNT",
        help="numbers of ranks (default: 1 2 4)",
    )
    parser.add_argument(
        "--rank",
        action="store_true",
        help=argparse.SUPPRESS,
    )
    settings = parser.parse_args()
    if settings.rank:
        measure()
        return
    if settings.ranks[:2] != [1, 2]:
        parser.error("the model is fitted to 1 and 2 ranks: --ranks begins with them")
    rows = [launched(ranks) for ranks in settings.ranks]
    cores = os.cpu_count()
    print(f"{cores} processors; the wave, {CELLS}² cells, forward and reverse, one thread a rank")
    for row in rows:
        of_sum = " and ".join(f"{1e6 * one:.0f}" for one in row["sum"])
        print(
            f"{row['ranks']} ranks: {1e3 * row['strong']:.2f} ms a step, with as many cells a rank "
            f"{1e3 * row['weak']:.2f}; fields of a rank {row['bytes'] / 2**20:.1f} MiB; a sum of "
            f"one number {of_sum} us by dist and by MPI alone; messages of {SIZES} doubles "
            f"{[round(1e6 * one) for one in row['messages']]} us"
        )
    model = fitted(rows)
    print(model)
    for ranks in (10, 100, 1000, 10_000):
        strong = model.step(LARGE, 1) / model.step(LARGE, ranks)
        weak = model.step(CELLS**2, 1) / model.step(CELLS**2 * ranks, ranks)
        print(
            f"model, {ranks} ranks: {LARGE:.0e} cells {strong:.0f} times as fast; weak {weak:.3f}"
        )
    if settings.figure:
        draw(rows, model, settings.figure)


if __name__ == "__main__":
    main()
