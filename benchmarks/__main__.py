"""Compare the times of mlirad with those of other modules that have Taichi's names.

Peers are the modules that this interpreter can import, and those that --peer and the environment
variable PEERS name, each as NAME=PYTHON: a module, and an interpreter that can import it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path

from benchmarks.collisions import checks_table, compare_checks
from benchmarks.driver import Case, Measured, measure
from benchmarks.gradients import FIRST_HEADING, HEADING, compare_first_calls, compare_ways
from benchmarks.gradients import table as ways_table
from benchmarks.report import disagreements, table
from benchmarks.rules import compare_rules, rules_table
from benchmarks.systems import System, find_systems
from benchmarks.workload import GRADIENT_SIZES, SIZES

CASES = ("launch", "first_call", *SIZES)


def main() -> int:
    """Run the command line; the exit status is 1 where a system failed or a gradient differs."""
    settings = _settings()
    if settings.rules:
        for threads in settings.threads or (1,):
            print(
                rules_table(compare_rules(settings.quick, settings.rounds or 25, threads)),
                flush=True,
            )
        return 0
    if settings.collisions:
        for threads in settings.threads or (1,):
            print(
                checks_table(compare_checks(settings.quick, settings.rounds or 25, threads)),
                flush=True,
            )
        return 0
    if settings.gradients:
        _compare_gradients(settings)
        return 0
    systems = find_systems([*os.environ.get("PEERS", "").split(), *settings.peer])
    rounds = settings.rounds or (3 if settings.quick else 7)
    wrong: list[str] = []
    kept = []
    for case in _cases(settings):
        results = measure(case, systems, rounds)
        print(table(case, results), flush=True)
        wrong += disagreements(case, results)
        kept.append((case, results))
        _write(settings.output, systems, kept)
    print(f"medians of {rounds} samples, taken in turn; written to {settings.output}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _compare_gradients(settings: argparse.Namespace) -> None:
    names = [name for name in settings.only or GRADIENT_SIZES if name in GRADIENT_SIZES]
    for threads in settings.threads or (1,):
        print(
            f"{threads} thread(s); least times, in brackets medians\n\n{ways_table(HEADING)}",
            flush=True,
        )
        for name in names:
            print(
                compare_ways(name, settings.quick, settings.rounds or 15, threads).line(),
                flush=True,
            )
    print(
        f"\nfirst calls without what later ones take, ms, one "
        f"thread\n\n{ways_table(FIRST_HEADING)}",
        flush=True,
    )
    for name in names:
        print(compare_first_calls(name, settings.quick, 1).line(), flush=True)


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes and few samples (default: full sizes)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="CASE",
        choices=list(dict.fromkeys([*CASES, *GRADIENT_SIZES])),
        help="case to run, one of %(choices)s; may be repeated (default: all)",
    )
    parser.add_argument(
        "--rules",
        action="store_true",
        help='instead, compare tapes with rules="save" and rules="refuse", on mlirad',
    )
    parser.add_argument(
        "--collisions",
        action="store_true",
        help="instead, compare tapes with and without the check for collisions, on mlirad",
    )
    parser.add_argument(
        "--gradients",
        action="store_true",
        help="instead, compare derivatives with their primal, on mlirad",
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="another module to compare with, and the interpreter that can import it; may be "
        "repeated",
    )
    parser.add_argument(
        "--threads",
        type=int,
        action="append",
        metavar="COUNT",
        help="number of threads; may be repeated (default: 1 and 2, or 1 with --rules, "
        "--collisions, or --gradients)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=0,
        metavar="COUNT",
        help="samples of each system (default: 7, or 3 with --quick; 25 with --rules or "
        "--collisions, 15 with --gradients)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("results.json"),
        metavar="FILE",
        help="file for all samples, as JSON (default: %(default)s)",
    )
    return parser.parse_args()


def _cases(settings: argparse.Namespace) -> list[Case]:
    cases = []
    for name in settings.only or CASES:
        for threads in settings.threads or (1, 2):
            if name == "launch":
                cases.append(Case(name, 16, threads))
            elif name == "first_call":
                cases.append(Case(name, 1000, threads, fresh=True))
            else:
                sizes = GRADIENT_SIZES[name]
                cases.append(Case(name, sizes.quick if settings.quick else sizes.full, threads))
    return cases


def _write(file: Path, systems: list[System], kept: list[tuple[Case, dict[str, Measured]]]) -> None:
    results = [
        {**asdict(case), "systems": {name: asdict(m) for name, m in found.items()}}
        for case, found in kept
    ]
    machine = {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": platform.platform(),
    }
    versions = {system.name: system.version() for system in systems}
    file.write_text(
        json.dumps({"machine": machine, "versions": versions, "results": results}, indent=1)
    )


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), ""
    )


if __name__ == "__main__":
    raise SystemExit(main())
