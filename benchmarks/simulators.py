"""Print the milliseconds of a training step (a tape and its reverse) of each of the ten simulators.

    python -m benchmarks.simulators [NAME ...]

Each simulator runs in its own process. The time is the least of several steps after the first one,
which compiles.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

import mlirad as ti
from mlirad.examples.__main__ import SIMULATORS, kind_of
from mlirad.examples.training import Adam

STEPS = 3


def measured(name: str) -> str:
    """A row of the table."""
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    simulator = kind_of(name)()
    adam = Adam(simulator.parameters, simulator.rate)
    least = float("inf")
    for number in range(STEPS + 1):
        begun = time.perf_counter()
        with ti.ad.Tape(simulator.loss):
            simulator.run()
        adam.step()
        ti.sync()
        if number:
            least = min(least, time.perf_counter() - begun)
    whole, each = 1000 * least, 1000 * least / simulator.steps
    return f"| `{name}` | {simulator.steps} | {whole:.0f} | {each:.2f} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.simulators",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(SIMULATORS)} (default: all)",
    )
    parser.add_argument(
        "--row",
        help=argparse.SUPPRESS,
    )
    settings = parser.parse_args(arguments)
    if settings.row:
        print(measured(settings.row), flush=True)
        return 0
    print(
        "| | steps of time | ms a training step | ms a step of time |\n|---|---|---|---|",
        flush=True,
    )
    for name in settings.names or SIMULATORS:
        subprocess.run([sys.executable, "-m", "benchmarks.simulators", "--row", name], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
