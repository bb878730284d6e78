"""Measure the time of tapes with memory limits, and write the plots of docs/checkpointing.md.

    python -m benchmarks.budgets [PROGRAM ...]

Each program of `benchmarks.budget_programs` computes its gradient with a tape that saves
everything, with tapes that may save fractions of that, and, if it has a time loop, with snapshots.
All gradients must have the same bits, and no tape may exceed its limit.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

import mlirad as ti
from benchmarks.budget_programs import PROGRAMS, Program
from mlirad.ad.budget.budget import Budget
from mlirad.errors import TaichiMemoryError

matplotlib.use("Agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
PARTS = (0.5, 0.25, 0.1, 0.05, 0.02)


@dataclass
class Cost:
    """One gradient: how, processor seconds, the most bytes that were kept, launches or steps that
    ran again."""

    how: str
    seconds: float
    bytes: int
    again: int
    gradient: Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.budgets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        help=f"any of {', '.join(PROGRAMS)} (default: all)",
    )
    parser.add_argument(
        "--plots",
        type=Path,
        default=DOCS,
        metavar="FOLDER",
        help="folder for the plots (default: docs)",
    )
    settings = parser.parse_args(arguments)
    for name in settings.programs or PROGRAMS:
        ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)
        program = PROGRAMS[name]()
        costs = measured(program)
        report(program, costs)
        draw(program, costs, settings.plots / f"budget-{name}.png")
    return 0


def measured(program: Program) -> list[Cost]:
    """What a gradient costs, whichever way."""
    everything(program)  # compiles
    full = everything(program)
    costs = [full, *(within(program, int(part * full.bytes)) for part in PARTS)]
    if program.steps:
        counts = sorted({max(2, int(part * program.steps)) for part in PARTS}, reverse=True)
        costs += [with_snapshots(program, count) for count in counts]
    for cost in costs:
        np.testing.assert_array_equal(cost.gradient, full.gradient, cost.how)
    return costs


def everything(program: Program) -> Cost:
    """By a tape that keeps everything."""
    program.prepare()
    begun = time.process_time()
    with ti.ad.Tape(program.loss) as tape:
        program.run(lambda steps: steps)
    seconds = time.process_time() - begun
    kept = sum(one.copy.nbytes for entry in tape.entries for one in entry.saved)
    return Cost("everything", seconds, kept, 0, program.wrt.grad.to_numpy())


def within(program: Program, memory: int) -> Cost:
    """Within a budget, or the least that can."""
    program.prepare()
    begun = time.process_time()
    try:
        with ti.ad.Tape(program.loss, memory=memory) as tape:
            program.run(lambda steps: steps)
    except TaichiMemoryError as error:
        found = re.search(r"memory=(\d+) is the lowest", str(error))
        assert found, str(error)
        return within(program, int(found.group(1)))
    seconds, budget = time.process_time() - begun, tape.ledger.keeper
    assert isinstance(budget, Budget)
    assert budget.copies.peak <= memory, "more was kept than the budget"
    again = sum(budget.planner.repeated.values())
    return Cost(f"memory={memory}", seconds, budget.copies.peak, again, program.wrt.grad.to_numpy())


def with_snapshots(program: Program, snapshots: int) -> Cost:
    """By `ti.ad.checkpointed`."""
    program.prepare()
    loops: list[Any] = []

    def over(steps: range) -> Iterable[int]:
        declared = {"state": program.state, "scratch": program.scratch, "snapshots": snapshots}
        loops.append(ti.ad.checkpointed(steps, **declared))
        found: Iterable[int] = loops[-1]
        return found

    begun = time.process_time()
    with ti.ad.Tape(program.loss):
        program.run(over)
    seconds, noted = time.process_time() - begun, loops[0].statistics
    again = noted.executions - program.steps
    gradient = program.wrt.grad.to_numpy()
    return Cost(f"snapshots={snapshots}", seconds, noted.peak_bytes, again, gradient)


def report(program: Program, costs: Sequence[Cost]) -> None:
    """A table; seconds as parts of those of the tape that keeps everything."""
    full = costs[0]
    print(f"{program.title}: {full.seconds:.2f} s")
    print(f"  {'':20} {'time':>6} {'MB':>10} {'again':>8}")
    for one in costs:
        time_ = one.seconds / full.seconds
        print(f"  {one.how:20} {time_:6.2f} {one.bytes / 1e6:10.3f} {one.again:8}", flush=True)


def draw(program: Program, costs: Sequence[Cost], file: Path) -> None:
    """Plot time against bytes."""
    figure, axes = plt.subplots(figsize=(4.8, 3.0))
    full = costs[0]
    for how, label in (("memory", "Tape(memory=)"), ("snapshots", "checkpointed")):
        some = sorted((c.bytes / 1e6, c.seconds / full.seconds) for c in costs if how in c.how)
        if some:
            axes.plot(*zip(*some), "o-", label=label)
    axes.plot([full.bytes / 1e6], [1.0], "k*", markersize=10, label="everything")
    axes.set(xscale="log", xlabel="MB kept", ylabel="time of everything", title=program.title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=70)
    plt.close(figure)


if __name__ == "__main__":
    raise SystemExit(main())
