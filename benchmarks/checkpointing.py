"""Measure time against memory of checkpointed loops, and write the plot of docs/checkpointing.md.

    python -m benchmarks.checkpointing

The jelly of `mlirad.examples.throw` computes one gradient, in place, with a tape that saves
everything and with snapshots. The moving averages of seed 002 follow. All gradients must have the
same bits.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import mlirad as ti
from mlirad.ad.checkpoint.schedule import executions
from mlirad.examples.throw import Jelly

matplotlib.use("Agg")
from matplotlib import pyplot as plt

PLOT = Path(__file__).parents[1] / "docs" / "checkpointing.png"
SNAPSHOTS = (3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256)


@dataclass
class Cost:
    """One gradient: seconds, bytes kept for it, runs of steps."""

    snapshots: int | None
    seconds: float
    bytes: int
    executions: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checkpointing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--particles",
        type=int,
        default=1000,
        metavar="COUNT",
        help="particles of the jelly (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=1024,
        metavar="COUNT",
        help="time steps of the jelly (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        metavar="COUNT",
        help="runs of the jelly, of which the fastest counts (default: %(default)s)",
    )
    parser.add_argument(
        "--averages",
        type=int,
        default=100_000,
        metavar="COUNT",
        help="steps of the moving averages (default: %(default)s)",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        default=PLOT,
        metavar="FILE",
        help="file for the plot (default: the one in docs)",
    )
    settings = parser.parse_args(arguments)
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
    costs = jelly_costs(settings.particles, settings.steps, settings.rounds)
    draw(costs, settings.steps, settings.plot)
    print(f"plot: {settings.plot}")
    averages(settings.averages)
    return 0


def jelly_costs(particles: int, steps: int, rounds: int) -> list[Cost]:
    """One gradient without snapshots, and with more and more of them; of several rounds the
    fastest.

    Raises AssertionError where gradients differ.
    """
    jelly = Jelly(particles, steps)
    plain(jelly, 2)  # compiles
    runs = [[plain(jelly, steps)] for _ in range(rounds)]
    expected = jelly.throw.grad.to_numpy(), jelly.start.grad.to_numpy()
    for own in runs:
        for snapshots in SNAPSHOTS:
            own.append(checkpointed(jelly, steps, snapshots))
            assert own[-1].executions == executions(steps, snapshots)
            for gradient, other in zip(
                (jelly.throw.grad.to_numpy(), jelly.start.grad.to_numpy()), expected
            ):
                np.testing.assert_array_equal(gradient, other)
    costs = [min(same, key=lambda cost: cost.seconds) for same in zip(*runs)]
    print(
        f"jelly of {particles} particles, {steps} steps\n{'snapshots':>10} {'seconds':>8} "
        f"{'MB':>8} {'steps run':>10}"
    )
    for cost in costs:
        print(
            f"{cost.snapshots or 'all':>10} {cost.seconds:8.2f} {cost.bytes / 1e6:8.2f} "
            f"{cost.executions:10}"
        )
    return costs


def checkpointed(jelly: Jelly, steps: int, snapshots: int) -> Cost:
    """One gradient with snapshots."""
    started = time.perf_counter()
    with ti.ad.Tape(jelly.loss):
        loop = ti.ad.checkpointed(
            range(steps), state=jelly.state, scratch=jelly.scratch, snapshots=snapshots
        )
        jelly.fly(loop)
    found = loop.statistics
    return Cost(snapshots, time.perf_counter() - started, found.peak_bytes, found.executions)


def plain(jelly: Jelly, steps: int) -> Cost:
    """One gradient by a tape that saves everything."""
    started = time.perf_counter()
    with ti.ad.Tape(jelly.loss) as tape:
        jelly.fly(range(steps))
    return Cost(None, time.perf_counter() - started, tape.explain().bytes, steps)


def draw(costs: Sequence[Cost], steps: int, file: Path) -> None:
    """The plot, as a small PNG."""
    figure, axes = plt.subplots(figsize=(6, 3.6), dpi=80, layout="constrained")
    some = [cost for cost in costs if cost.snapshots is not None]
    axes.semilogx(
        [cost.bytes / 1e6 for cost in some], [cost.seconds for cost in some], "o-", label="measured"
    )
    everything = costs[0]
    axes.semilogx([everything.bytes / 1e6], [everything.seconds], "s", label="everything saved")
    for cost in some:
        axes.annotate(
            str(cost.snapshots),
            (cost.bytes / 1e6, cost.seconds),
            (2, 5),
            textcoords="offset points",
            fontsize=8,
        )
    axes.set_ylim(bottom=0)
    axes.set_xlabel("MB kept for the gradient (labels: snapshots)")
    axes.set_ylabel("seconds, one gradient")
    axes.set_title(f"MLS-MPM in place, {steps} steps", fontsize=10)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(file)
    plt.close(figure)


def averages(steps: int, rows: int = 32, snapshots: int = 200) -> None:
    """The moving averages of seed 002, a launch a step. Raises AssertionError where gradients
    differ."""
    data: Any = ti.field(ti.f64, shape=(rows, steps), needs_grad=True)
    ewma: Any = ti.field(ti.f64, shape=rows, needs_grad=True)
    loss: Any = ti.field(ti.f64, shape=(), needs_grad=True)
    data.from_numpy(np.random.default_rng(0).random((rows, steps)))

    @ti.kernel
    def step(col: ti.i32) -> None:
        for row in range(rows):
            ewma[row] = 0.5 * data[row, col] + 0.5 * ewma[row]

    @ti.kernel
    def finish() -> None:
        for row in range(rows):
            loss[None] += ewma[row] ** 2

    def record(over: Callable[[], Iterable[int]]) -> tuple[Any, float]:
        ewma.fill(0)
        loss.fill(0)
        started = time.perf_counter()
        with ti.ad.Tape() as tape:
            for col in over():
                step(col)
            finish()
        return tape, time.perf_counter() - started

    record(lambda: range(2))  # compiles
    gradients = []
    print(
        f"moving averages of {rows} rows, {steps} steps; one state a step: "
        f"{8 * rows * steps / 1e6:.1f} MB"
    )
    for name, over in (
        ("everything saved", lambda: range(steps)),
        (
            f"{snapshots} snapshots",
            lambda: ti.ad.checkpointed(range(steps), state=[ewma], snapshots=snapshots),
        ),
    ):
        tracemalloc.start()
        tape, _ = record(over)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        tape, seconds = record(over)
        started = time.perf_counter()
        tape.grad({loss: None})
        print(
            f"{name:>18}: {held / 1e6:8.3f} MB held after the forward sweep "
            f"({tape.explain().bytes} bytes of values); "
            f"forward {seconds:.2f} s, reverse {time.perf_counter() - started:.2f} s"
        )
        gradients.append(data.grad.to_numpy())
        del tape
    np.testing.assert_array_equal(*gradients)


if __name__ == "__main__":
    raise SystemExit(main())
