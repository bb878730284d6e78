"""Compare random functions in MLIR with upstream's lowering, and derivatives with differences.

    cd test && PYTHONPATH=.. python -m programs.foreign_functions KIND FIRST COUNT

A function that is wrong is printed with its number. Refused functions are counted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

from programs.foreign_functions import KINDS
from programs.foreign_functions.check import Outcome, family, outcome
from programs.meeting.isolated import isolated

BATCH, SECONDS = 50, 30


def main() -> int:
    """Check the functions; 1 if any is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m programs.foreign_functions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", choices=KINDS, help="kind of the functions")
    parser.add_argument("first", type=int, metavar="FIRST", help="number of the first function")
    parser.add_argument("count", type=int, metavar="COUNT", help="how many functions")
    parser.add_argument(
        "--text", action="store_true", help="print every function (default: those that are wrong)"
    )
    options = parser.parse_args()
    start, counts, messages = time.perf_counter(), Counter[str](), Counter[str]()
    for number, result in results(options.kind, options.first, options.count):
        counts[result.kind] += 1
        messages[f"{result.kind}: {family(result.message)}"] += result.kind != "right"
        if options.text or result.kind in ("wrong", "invalid"):
            text = KINDS[options.kind](number).text if options.text else ""
            print(
                f"{options.kind} {number}: {result.kind}: {result.message[:600]}\n{text}",
                flush=True,
            )
    for message, count in messages.most_common(30):
        print(f"{count} {message}")
    print(f"{options.count} functions, {dict(counts)}, {time.perf_counter() - start:.0f} s")
    return 1 if counts["wrong"] or counts["invalid"] else 0


def results(kind: str, first: int, count: int) -> Iterator[tuple[int, Outcome]]:
    """Return the outcome of each function; a batch shares a process, and that it died is one."""
    number, last = first, first + count
    while number < last:
        batch = range(number, min(number + BATCH, last))
        for value in isolated(partial(_outcomes, kind, batch), SECONDS):
            yield number, Outcome("wrong", value) if isinstance(value, str) else Outcome(*value)
            number += 1


def _outcomes(kind: str, numbers: range) -> Iterator[Outcome]:
    return (outcome(KINDS[kind](number), number) for number in numbers)


if __name__ == "__main__":
    sys.exit(main())
