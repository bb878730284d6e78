"""Run DiffTaichi's programs unchanged, and print their losses, times and memory in markdown.

    python -m benchmarks.difftaichi CHECKOUT [--taichi PYTHON]

CHECKOUT is a clone of github.com/taichi-dev/difftaichi, which is not part of this repository. The
programs import opencv-python-headless, imageio and matplotlib. With --taichi, each program runs on
mlirad and then on Taichi.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import difftaichi_program

PROGRAMS = (
    "mass_spring_simple.py",
    "mass_spring.py 1 train",
    "mass_spring_interactive.py 1",
    "rigid_body.py 1 train",
    "billiards.py",
    "electric.py",
    "wave.py",
    "smoke_taichi_cpu.py",
    "diffmpm_simple.py",
    "diffmpm_checkpointing.py",
    "diffmpm.py",
)
SECONDS = ("whole run, s", "processor, s", "last tape, s", "its processor, s")
LONGEST = 900.0  # seconds


@dataclass
class Run:
    """What a program said, or why it said nothing."""

    losses: list[float]
    seconds: list[float]  # of each tape
    used: list[float]  # of the processor, in each
    peak: float
    code: float
    wall: float
    processor: float
    failure: str = ""


def main() -> None:
    """Run the programs and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.difftaichi",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "checkout",
        type=Path,
        metavar="CHECKOUT",
        help="clone of DiffTaichi's repository",
    )
    parser.add_argument(
        "--taichi",
        metavar="PYTHON",
        help="interpreter that can import Taichi (default: only mlirad runs)",
    )
    parser.add_argument(
        "--path",
        metavar="FOLDER",
        help="folder with packages that the programs import, for both systems (default: none)",
    )
    parser.add_argument(
        "--only",
        metavar="TEXT",
        help="run the programs whose names contain this (default: all)",
    )
    parser.add_argument(
        "--tapes",
        type=int,
        default=2,
        metavar="COUNT",
        help="tapes after which a program ends (default: %(default)s)",
    )
    options = parser.parse_args()
    systems = [("mlirad", sys.executable)]
    if options.taichi:
        systems.append(("taichi", options.taichi))
    columns = ["program", "system", "loss", *SECONDS, "peak, MB", "code in peak, MB"]
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for program in PROGRAMS:
        if options.only is None or options.only in program:
            for name, python in systems:
                found = run(name, python, options.checkout, program, options.tapes, options.path)
                print(_row(program, name, found), flush=True)


def run(
    system: str, python: str, checkout: Path, program: str, tapes: int, path: str | None
) -> Run:
    """One program on one system, in a process of its own."""
    name, *arguments = program.split()
    paths = [path] if path else []
    if system == "mlirad":
        paths.insert(0, str(Path(__file__).parents[1]))
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [
            python,
            difftaichi_program.__file__,
            system,
            str(tapes),
            str(checkout / "examples" / name),
            *arguments,
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LONGEST,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    prefix = difftaichi_program.PREFIX
    for line in ended.stdout.splitlines():
        if line.startswith(prefix):
            return Run(wall=wall, processor=processor, **json.loads(line.removeprefix(prefix)))
    last = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
    failure = f"ended with {ended.returncode}: {' '.join(last)[:80]}"
    return Run([], [], [], 0, 0, wall, processor, failure)


def _row(program: str, system: str, found: Run) -> str:
    cells = [f"`{program}`", system]
    if found.failure:
        return f"| {' | '.join([*cells, found.failure])} | | | | | | |"
    cells += [
        f"{found.losses[-1]:.9g}",
        f"{found.wall:.1f}",
        f"{found.processor:.1f}",
        f"{found.seconds[-1]:.2f}",
        f"{found.used[-1]:.2f}",
        f"{found.peak:.0f}",
        f"{found.code:.0f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
