"""Measure how the time and the memory of each workload grow.

    python -m benchmarks.scale [--only mpm2d lbm] [--quick] [--figure docs/scale.png]
    python -m benchmarks.scale --large 100000

Sizes are a factor of 4 apart, up to what a sample, as predicted from the one before, takes in time
and memory. Each size runs in a process of its own, on one thread; times are processor times, the
least of a few. The exponents are those of the upper decade; in parentheses the largest between
neighboring sizes. `tape` is clearing, recording and the reverse. `memory` is that of all fields and
gradients, with the most that a tape adds to it; the last column is what an element, or a step, adds
to that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.scale.draw import draw
from benchmarks.scale.fit import TOLERANCE, exponents
from benchmarks.scale.growths import GROWTHS, Growth
from benchmarks.scale.large import run_large
from benchmarks.scale.sample import Sample, measured

PREFIX = "@@"
SECONDS, MEMORY = 20.0, 8e9
QUICK = 2  # sizes
_HEAD = ("workload", "grows", "from", "to", "algorithm", "primal", "tape", "memory", "bytes of one")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    settings = _settings(arguments)
    if settings.large:
        run_large(settings.large, settings.steps, settings.memory, settings.plan, settings.threads)
        return
    if settings.one:
        growth = GROWTHS[settings.one[0]]
        print(PREFIX + json.dumps(asdict(measured(growth, int(settings.one[1])))))
        return
    chosen = [growth for growth in GROWTHS.values() if _is_chosen(growth, settings)]
    found: dict[Growth, list[Sample]] = {}
    print(f"| {' | '.join(_HEAD)} |\n|{'---|' * len(_HEAD)}")
    for growth in chosen:
        samples = _grown(growth, settings)
        if len(samples) > 1:
            found[growth] = samples
            print(row(growth, samples), flush=True)
    print()
    for growth, samples in found.items():
        print("".join(f"{line}\n" for line in warnings(growth, samples)), end="")
    if settings.figure is not None:
        draw(found, settings.figure)


def _settings(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", nargs="+", metavar="WORKLOAD", help="workloads to measure (default: all)"
    )
    parser.add_argument(
        "--grows",
        choices=("size", "steps"),
        help="grow the size only, or the number of steps only (default: both)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the two smallest sizes (default: all sizes)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="COUNT",
        help="most seconds of a sample (default: %(default)s)",
    )
    parser.add_argument(
        "--bytes",
        type=float,
        default=MEMORY,
        metavar="COUNT",
        help="most bytes of a sample (default: %(default)s)",
    )
    parser.add_argument(
        "--figure", type=Path, metavar="FILE", help="picture, PNG or SVG (default: no picture)"
    )
    parser.add_argument(
        "--samples",
        type=Path,
        metavar="FILE",
        help="append each sample to a file, as JSON (default: no file)",
    )
    parser.add_argument(
        "--one",
        nargs=2,
        metavar=("GROWTH", "NUMBER"),
        help="measure a single size in this process, and print it as JSON (default: all sizes, "
        "each in such a process)",
    )
    parser.add_argument(
        "--large",
        type=int,
        metavar="PARTICLES",
        help="instead, take the gradient of a liquid of many particles within a memory limit, "
        "once, on all threads, and compare its time with the bandwidth of the machine (default: "
        "measure the workloads)",
    )
    parser.add_argument(
        "--steps", type=int, default=100, metavar="COUNT", help="for --large (default: %(default)s)"
    )
    parser.add_argument(
        "--memory",
        default="12GB",
        help="memory limit of the tape, for --large (default: %(default)s)",
    )
    parser.add_argument(
        "--plan",
        choices=("memory", "checkpointed"),
        default="memory",
        help="who applies the limit, for --large: the tape, or a checkpointed loop (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count(),
        metavar="COUNT",
        help="number of threads, for --large (default: all)",
    )
    return parser.parse_args(arguments)


def _is_chosen(growth: Growth, settings: argparse.Namespace) -> bool:
    return (not settings.only or growth.workload in settings.only) and (
        not settings.grows or (settings.grows == "steps") == growth.grows_in_steps
    )


def _grown(growth: Growth, settings: argparse.Namespace) -> list[Sample]:
    """Samples of growing sizes, as far as the next will take less than the limits."""
    samples: list[Sample] = []
    for number in growth.sizes[: QUICK if settings.quick else None]:
        if samples and not _is_within(growth, samples[-1], number, settings):
            break
        samples.append(_in_a_process(growth, number))
        if settings.samples is not None:
            with settings.samples.open("a") as file:
                file.write(json.dumps({"growth": growth.title, **asdict(samples[-1])}) + "\n")
    return samples


def _is_within(growth: Growth, last: Sample, number: int, settings: argparse.Namespace) -> bool:
    larger = growth.count(number) / last.count
    seconds = max(last.primal, last.tape) * larger**growth.exponent
    return bool(seconds <= settings.seconds and last.bytes * larger <= settings.bytes)


def _in_a_process(growth: Growth, number: int) -> Sample:
    name = next(name for name, one in GROWTHS.items() if one == growth)
    command = [sys.executable, "-m", "benchmarks.scale", "--one", name, str(number)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    line = next(line for line in output.splitlines() if line.startswith(PREFIX))
    return Sample(**json.loads(line[len(PREFIX) :]))


def row(growth: Growth, samples: Sequence[Sample]) -> str:
    """A row of the table."""
    counts = [sample.count for sample in samples]
    columns = []
    for mode in ("primal", "tape", "bytes"):
        found = exponents(counts, [getattr(sample, mode) for sample in samples])
        columns.append(f"{found.upper:.2f} ({found.largest:.2f})")
    last, before = samples[-1], samples[-2]
    each = (last.bytes - before.bytes) / (last.count - before.count)
    cells = [growth.title, growth.what, f"{counts[0]:,}", f"{counts[-1]:,}"]
    cells += [f"{growth.exponent:g}", *columns, f"{max(each, 0):,.0f}"]
    return f"| {' | '.join(cells)} |"


def warnings(growth: Growth, samples: Sequence[Sample]) -> Iterator[str]:
    """Lines on exponents that exceed the algorithm's: between which sizes, and what they occupy."""
    counts = [sample.count for sample in samples]
    for mode in ("primal", "clear", "forward", "reverse"):
        found = exponents(counts, [getattr(sample, mode) for sample in samples])
        for name, value in (("upper decade", found.upper), ("largest", found.largest)):
            if value > growth.exponent + TOLERANCE:
                first, second = samples[found.at], samples[found.at + 1]
                where = (
                    ""
                    if name == "upper decade"
                    else (
                        f", from {first.count:,} {growth.what} ({first.bytes / 1e6:.1f} MB) to "
                        f"{second.count:,} ({second.bytes / 1e6:.1f} MB)"
                    )
                )
                yield f"{growth.title} by {growth.what}, {mode}, {name}: {value:.2f}{where}"


if __name__ == "__main__":
    main()
