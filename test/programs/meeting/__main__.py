"""Compare random programs that combine features with a reference in plain Python.

    cd test && PYTHONPATH=.. python -m programs.meeting FIRST COUNT

A program that fails is printed with its number. Refused programs are counted.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from programs.meeting.check import Outcome, outcome
from programs.meeting.host import Program
from programs.meeting.isolated import isolated
from programs.meeting.shrink import shrunk

BATCH, SECONDS = 50, 20


def main() -> int:
    """Check the programs; 1 if any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m programs.meeting",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("first", type=int, metavar="FIRST", help="number of the first program")
    parser.add_argument("count", type=int, metavar="COUNT", help="how many programs")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="reduce the programs that fail (default: print them as they are)",
    )
    parser.add_argument(
        "--text", action="store_true", help="print every program (default: those that fail)"
    )
    options = parser.parse_args()
    start, counts, refusals = time.perf_counter(), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="mlirad-meeting-") as name:
        folder = Path(name)
        last = options.first + options.count
        for number, result in results(options.first, last, folder):
            counts[result.kind] += 1
            if result.kind == "refused":
                refusals[_family(result.message)] += 1
            if options.text or result.kind in ("wrong", "invalid"):
                _show(number, result, folder, shrink=options.shrink)
    for message, count in refusals.most_common():
        print(f"refused {count}: {message}")
    seconds = time.perf_counter() - start
    print(f"{options.count} programs, {dict(counts)}, {seconds:.0f} s", flush=True)
    return 1 if counts["wrong"] or counts["invalid"] else 0


def results(first: int, last: int, folder: Path) -> Iterator[tuple[int, Outcome]]:
    """The outcome of each program; a batch shares a process, and that it died is an outcome."""
    number = first
    while number < last:
        batch = range(number, min(number + BATCH, last))
        for value in isolated(partial(_outcomes, batch, folder), SECONDS):
            yield number, Outcome("wrong", value) if isinstance(value, str) else Outcome(*value)
            number += 1


def _outcomes(numbers: range, folder: Path) -> Iterator[Outcome]:
    return (outcome(Program(number).text, folder, number) for number in numbers)


def _show(number: int, result: Outcome, folder: Path, *, shrink: bool) -> None:
    text = Program(number).text
    if shrink and result.kind == "wrong":
        found = list(isolated(partial(_smaller, number, result, folder), 10 * SECONDS))
        if len(found) == 1 and not isinstance(found[0], str):
            text, result = found[0][0], Outcome(*found[0][1])
    print(f"\nprogram {number}: {result.kind}: {result.message}\n{text}\n", flush=True)


def _smaller(number: int, result: Outcome, folder: Path) -> Iterator[tuple[str, Outcome]]:
    """A program that fails alike, and how it fails."""

    def fails(source: str) -> bool:
        return outcome(source, folder, number).family == result.family

    text = shrunk(Program(number).text, fails)
    yield text, outcome(text, folder, number)


def _family(message: str) -> str:
    """A message without names, numbers and places."""
    line = re.sub(r"\S*program_\d+\.py:[\d:]*", "", message.splitlines()[0])
    return re.sub(r"'[^']*'|\d+", "_", line).strip()[:160]


if __name__ == "__main__":
    sys.exit(main())
