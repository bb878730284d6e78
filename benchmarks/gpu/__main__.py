"""Run the tests on a GPU, then compare mlirad with the limits of the card and with other systems.

This needs Python, NumPy, llvmlite and the bindings. pytest, Taichi and Quadrants are used if they
are installed. The results are written as a table, and all measurements as JSON next to it.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.driver import Case, Measured, measure
from benchmarks.gpu.card import Card, find_card
from benchmarks.gpu.cases import CASES, GpuCase, Least
from benchmarks.gpu.peers import find_gpu_systems, has_case
from benchmarks.gpu.rehearsal import rehearse
from benchmarks.gpu.tests import run_tests
from benchmarks.report import disagreements
from benchmarks.report import table as launch_table
from benchmarks.systems import OURS, System, find_systems
from benchmarks.worker import OTHERWISE

COPIED = 1 << 30  # bytes, for the copy bandwidth


def main() -> int:
    """Run the command line; the exit status is 1 where a test or a gradient was wrong."""
    settings = _settings()
    if settings.stub:
        rehearse()
    lines = ["# mlirad on a GPU", ""]
    good = True
    if not settings.no_tests:
        good, line = run_tests(settings.arch, settings.tests)
        lines.append(f"Tests: {line}")
        print(lines[-1], flush=True)
    card = find_card(settings.arch, COPIED >> (10 * settings.quick))
    lines += [
        f"Card: {card.name}; a copy by the driver reads and writes {card.bandwidth / 1e9:.0f} GB/s "
        f"together; at most {card.instructions / 1e12:.1f} x 10^12 f32 instructions a second",
        "",
    ]
    print(lines[-2], flush=True)
    wrong: list[str] = []
    kept = []
    systems = find_gpu_systems(settings.peer, alone=settings.stub or settings.alone)
    for case in (one for one in CASES if not settings.only or one.name in settings.only):
        with_case = [system for system in systems if has_case(system, case.name)]
        text, results = _measured(case, card, with_case, settings)
        lines += [text, ""]
        print(text, flush=True)
        wrong += disagreements(Case(case.name, case.size(settings.quick)), results)
        kept.append({"case": case.name, "results": {k: asdict(v) for k, v in results.items()}})
        settings.output.write_text("\n".join([*lines, *wrong, ""]))
        settings.output.with_suffix(".json").write_text(json.dumps([asdict(card), *kept], indent=1))
    if not settings.only or "launch" in settings.only:
        with_launches = [system for system in systems if system.name not in OTHERWISE]
        launch = Case("launch", 16, fresh=False, arch=settings.arch)
        measured = measure(launch, with_launches, settings.rounds, settings.limit)
        text = launch_table(launch, measured)
        lines.append(text)
        print(text, flush=True)
    settings.output.write_text("\n".join([*lines, *wrong, ""]))
    print("\n".join([*wrong, f"written to {settings.output}"]))
    return 0 if good and not wrong else 1


def _settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
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
    parser.add_argument(
        "--no-tests",
        action="store_true",
        help="do not run the tests (default: run them)",
    )
    parser.add_argument(
        "--tests",
        nargs="*",
        default=[],
        metavar="FILE",
        help="files of tests to run (default: all)",
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        metavar="CASE",
        help="cases to measure (default: all)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=5,
        metavar="COUNT",
        help="samples of each system (default: %(default)s)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60,
        metavar="SECONDS",
        help="time after which a system is stopped in a case (default: %(default)s)",
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="compare only with the systems that --peer names (default: also with those that "
        "this interpreter can import)",
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
        "--output",
        type=Path,
        default=Path("gpu_table.txt"),
        metavar="FILE",
        help="file for the table (default: %(default)s)",
    )
    return parser.parse_args()


def _measured(
    case: GpuCase, card: Card, systems: list[System], settings: argparse.Namespace
) -> tuple[str, dict[str, Measured]]:
    """A case as a table, and what was measured: one line for the ceiling, one a system, and one
    for our gradient on the CPU at the quick size, which must agree."""
    size = case.size(settings.quick)
    steps = min(case.steps, 4) if settings.quick else case.steps
    one = Case(case.name, size, arch=settings.arch, steps=steps)
    with ThreadPoolExecutor(1) as pool:
        here = pool.submit(_on, "cpu", case, settings) if settings.quick else None
        results = measure(one, systems, settings.rounds, settings.limit)
    ceilings = [case.primal(size), case.gradient(size)]
    rows = [
        ["system", "primal, ms", "of the ceiling", "primal and gradient, ms", "of the ceiling"],
        ["ceiling", *(cell for least in ceilings for cell in (_ms(least, card), "1"))],
        *(_row(name, measured, ceilings, card) for name, measured in results.items()),
    ]
    shown = ["| " + " | ".join(row) + " |" for row in rows]
    shown.insert(1, "|" + "---|" * len(rows[0]))
    small = (
        {OURS: _on("cpu", case, settings), settings.arch: _on(settings.arch, case, settings)}
        if here is None
        else {OURS: here.result(), settings.arch: results[OURS]}
    )
    differing = disagreements(Case(case.name, case.quick), small)
    agrees = "the gradient is that of the CPU"
    shown.append(f"\nat {case.quick}: {'; '.join(differing) or agrees}")
    return "\n".join([f"{case.name}, {size}", "", *shown]), results


def _ms(least: Least, card: Card) -> str:
    return f"{least.seconds(card) * 1e3:.3g}"


def _row(name: str, measured: Measured, ceilings: list[Least], card: Card) -> list[str]:
    if measured.error:
        return [name, "–", "–", measured.error[:80], "–"]
    row = [name]
    for key, least in zip(("primal", "gradient"), ceilings):
        found = measured.median(key)
        row += (
            ["–", "–"]
            if found is None
            else [f"{found:.3g}", f"{least.seconds(card) * 1e3 / found:.0%}"]
        )
    return row


def _on(arch: str, case: GpuCase, settings: argparse.Namespace) -> Measured:
    """What we give at the quick size."""
    one = Case(case.name, case.quick, arch=arch, steps=min(case.steps, 4))
    return measure(one, find_systems([], ()), 1, settings.limit)[OURS]


if __name__ == "__main__":
    raise SystemExit(main())
