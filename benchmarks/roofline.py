"""Plot each workload, primal and reverse, against the arithmetic and the memory of this machine.

    python -m benchmarks.roofline --figure docs/roofline.png

Operations and bytes are counted in the IR (`benchmarks.work`). Times are the least of several on
one thread. The method is that of Williams, Waterman and Patterson (Roofline, 2009).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import mlirad as ti
from benchmarks.work import Counter, Launches, UncountedError, Work
from benchmarks.workload import SIZES, Workload, passes_of
from mlirad.runtime.program import program

LARGE, SMALL = 1 << 25, 1 << 15  # floats: many times the last cache; in the second
SKIPPED = ("mpm_structs", "mpm_structs_apart", "streams")  # mpm2d again; copies


@dataclass(frozen=True)
class Point:
    """A workload in one mode."""

    workload: str
    mode: str
    operations: float  # an element of a vector counts as one
    bytes: float  # that have to be read or written
    seconds: float

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return self.operations / self.bytes

    @property
    def rate(self) -> float:
        """10^9 operations a second."""
        return self.operations / self.seconds / 1e9


@dataclass(frozen=True)
class Ceilings:
    """What one core does at most: 10^9 operations, and 10^9 bytes, a second."""

    arithmetic: float
    memory: float
    cache: float


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.roofline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--figure",
        type=Path,
        metavar="FILE",
        help="picture, PNG or SVG (default: no picture, only a table)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=7,
        metavar="COUNT",
        help="runs of each workload, of which the fastest counts (default: %(default)s)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes (default: full sizes)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORKLOAD",
        choices=list(SIZES),
        help="workload, one of %(choices)s; may be repeated (default: all except "
        f"{', '.join(SKIPPED)})",
    )
    settings = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found = ceilings()
    print(json.dumps(asdict(found)))
    points = []
    print(
        "| workload | mode | operations | bytes | operations a byte | ms | GFLOP/s | of the roof |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in settings.only or [name for name in SIZES if name not in SKIPPED]:
        size = SIZES[name].quick if settings.quick else SIZES[name].full
        for point in measured(name, size, settings.rounds):
            points.append(point)
            print(_row(point, found), flush=True)
    if settings.figure is not None:
        draw(points, found, settings.figure)


def ceilings() -> Ceilings:
    """By NumPy: a product of matrices, copies of large and of small arrays, on one thread."""
    matrix = np.ones((1024, 1024), np.float32)
    product = np.empty_like(matrix)
    large, small = (np.ones(length, np.float32) for length in (LARGE, SMALL))
    targets = np.empty_like(large), np.empty_like(small)

    def copy_small() -> None:
        for _ in range(100):
            np.copyto(targets[1], small)

    return Ceilings(
        2 * 1024**3 / least(lambda: np.matmul(matrix, matrix, out=product), 7) / 1e9,
        2 * large.nbytes / least(lambda: np.copyto(targets[0], large), 7) / 1e9,
        200 * small.nbytes / least(copy_small, 7) / 1e9,
    )


def least(function: Callable[[], object], rounds: int) -> float:
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(name: str, size: int, rounds: int) -> list[Point]:
    """A workload's primal and reverse; none where its work depends on data."""
    ti.init(cpu_max_num_threads=1)
    try:
        build = importlib.import_module(f"benchmarks.workloads.{name}").build
        return list(_points(name, build(ti, size), rounds))
    except UncountedError as error:
        print(f"{name}: {error}")
        return []
    finally:
        ti.reset()


def _points(name: str, workload: Workload, rounds: int) -> list[Point]:
    primal, gradient = passes_of(ti, workload)
    primal(), gradient()
    seconds = least(primal, rounds)
    both = least(gradient, rounds)
    works = work_of(workload)
    return [
        Point(name, mode, work.operations, work.bytes, taken)
        for mode, work, taken in zip(("primal", "reverse"), works, (seconds, both - seconds))
    ]


def work_of(workload: Workload) -> tuple[Work, Work]:
    """The work of a workload's launches, and of their reverses. Raises UncountedError where it
    depends on data."""
    launches, counter, threads = Launches(), Counter(), program().threads
    threads.record_by(launches)
    try:
        workload.forward()
    finally:
        threads.record_by(None)
    return (
        sum((counter.primal(*launch) for launch in launches.found), Work()),
        sum((counter.reverse(*launch) for launch in launches.found), Work()),
    )


def _row(point: Point, found: Ceilings) -> str:
    roof = min(found.arithmetic, point.intensity * found.memory)
    cells = (
        point.workload,
        point.mode,
        f"{point.operations:.3g}",
        f"{point.bytes:.3g}",
        f"{point.intensity:.2g}",
        f"{point.seconds * 1e3:.3g}",
        f"{point.rate:.3g}",
        f"{point.rate / roof:.0%}",
    )
    return f"| {' | '.join(cells)} |"


def draw(points: list[Point], found: Ceilings, path: Path) -> None:
    """The figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 6))
    intensities = np.geomspace(0.03, 3000, 200)
    for bandwidth, label, style in (
        (found.memory, "memory", "-"),
        (found.cache, "second cache", "--"),
    ):
        roof = np.minimum(found.arithmetic, intensities * bandwidth)
        axes.plot(intensities, roof, style, color="0.5", label=f"{label}, {bandwidth:.0f} GB/s")
    names = list(dict.fromkeys(point.workload for point in points))
    for name in names:
        own = [point for point in points if point.workload == name]
        (line,) = axes.plot([p.intensity for p in own], [p.rate for p in own], ":", linewidth=1)
        for point in own:
            axes.plot(
                point.intensity,
                point.rate,
                "o" if point.mode == "primal" else "s",
                color=line.get_color(),
                markerfacecolor=None if point.mode == "primal" else "none",
            )
        axes.annotate(
            name, (own[0].intensity, own[0].rate), (4, 4), textcoords="offset points", fontsize=8
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="operations a byte that has to be moved",
        ylabel="10⁹ operations a second, one thread",
        title="dots: primal; squares: reverse",
    )
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
