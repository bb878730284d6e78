"""Compare tensor expressions with NumPy, JAX and torch, and print a markdown table.

    python -m benchmarks.te --peer jax=PYTHON --threads 1

The systems take turns in each case, and a time is the least of all calls: processor time on one
thread, otherwise elapsed time. NumPy, JAX and torch are compared with if this interpreter can
import them, or if --peer names them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.systems import OURS, System, find_systems
from benchmarks.te.cases import Case, cases
from benchmarks.te.worker import PREFIX

_TOLERANCE = 1e-3  # of a result's norm
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.te",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="another system to compare with, and the interpreter that can import it; may be "
        "repeated",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORD",
        help="cases whose names contain this; may be repeated (default: all)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="COUNT",
        help="number of threads (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=3,
        metavar="COUNT",
        help="samples of each system (default: %(default)s)",
    )
    settings = parser.parse_args()
    systems = find_systems(settings.peer, ("numpy", "jax", "torch"))
    workers = [_Worker(one, settings.threads) for one in systems]
    names = [one.name for one in systems]
    unit = f"ms on {settings.threads} thread{'s' * (settings.threads > 1)}"
    heads = [unit, "gives", *names, "GFLOP/s", "/ fastest peer", "first call, s"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for number, case in enumerate(cases()):
        if not settings.only or any(word in case.name for word in settings.only):
            found = [dict[str, Any]() for _ in workers]
            for _ in range(settings.rounds):
                for one, worker in zip(found, workers):
                    _merge(one, worker.sample(number))
            print(_row(case, dict(zip(names, found))), flush=True)
    for worker in workers:
        worker.close()


class _Worker:
    """The process of a system."""

    def __init__(self, system: System, threads: int) -> None:
        self.name = system.name
        self.process = subprocess.Popen(
            [system.python, "-m", "benchmarks.te.worker", system.name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(threads),
            cwd=Path(__file__).parents[2],
        )

    def sample(self, number: int) -> dict[str, Any]:
        """What it says of a case. Raises RuntimeError where it has ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(number, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith(PREFIX):
                return dict(json.loads(line[len(PREFIX) :]))
        raise RuntimeError(f"{self.name} ended in {cases()[number].name}")

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def _environment(threads: int) -> dict[str, str]:
    found = os.environ | dict.fromkeys(_POOLS, str(threads))
    if threads == 1:
        found["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return found


def _merge(found: dict[str, Any], sample: dict[str, Any]) -> None:
    if "seconds" in sample and "seconds" in found:
        sample["seconds"] = min(found["seconds"], sample["seconds"])
    found.update(sample)


def _row(case: Case, found: dict[str, dict[str, Any]]) -> str:
    ours = found[OURS]
    times = [_time(one, ours) for one in found.values()]
    peers = [one["seconds"] for name, one in found.items() if name != OURS and "seconds" in one]
    rate = f"{case.operations / ours['seconds'] / 1e9:.0f}" if case.operations else ""
    ratio = f"{ours['seconds'] / min(peers):.2f}" if peers else ""
    cells = [case.name, case.wanted, *times, rate, ratio, f"{ours['first']:.2f}"]
    return f"| {' | '.join(cells)} |"


def _time(one: dict[str, Any], ours: dict[str, Any]) -> str:
    if "seconds" not in one:
        return ""
    pairs = list(zip(one["digest"], ours["digest"]))
    largest = [max(abs(norm[0]), abs(norm[1])) for norm in pairs[::2] for _ in range(2)]
    agree = all(abs(a - b) <= _TOLERANCE * most for (a, b), most in zip(pairs, largest))
    return f"{one['seconds'] * 1e3:.3g}" + ("" if agree else " (differs)")


if __name__ == "__main__":
    sys.exit(main())
