"""Run the table of all ways in which memory changes, and print the cells that are wrong, or refused
for another reason than the table of refusals gives.

    cd test && PYTHONPATH=.. python -m programs.memory_changes [--jobs 2]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

from programs.memory_changes.cell import Cell, Outcome, Result, cells, outcome
from programs.memory_changes.document import document
from programs.memory_changes.refusals import explained

CELLS = list(cells())


def main() -> int:
    """Print what is wrong, or refused for another reason than the table of refusals gives."""
    parser = argparse.ArgumentParser(
        prog="python -m programs.memory_changes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="run every N-th cell (default: %(default)s)",
    )
    parser.add_argument(
        "--from",
        type=int,
        default=0,
        dest="first",
        metavar="K",
        help="number of the first cell (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="COUNT",
        help="number of processes (default: %(default)s)",
    )
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="file for the page of docs (default: no page)"
    )
    options = parser.parse_args()
    results: dict[Cell, Result] = {}
    with Pool(options.jobs, maxtasksperchild=25) as pool:  # a process slows as it ages
        numbers = range(options.first, len(CELLS), options.every)
        for number, result in zip(numbers, pool.imap(_outcome, numbers, chunksize=8)):
            cell = CELLS[number]
            results[cell] = result
            if not explained(cell, result):
                print(f"{number} {cell}: {result.outcome.value}: {result.reason}", flush=True)
    print(dict(Counter(result.outcome.value for result in results.values())))
    if options.document:
        options.document.write_text(document(results))
    return int(any(result.outcome is Outcome.WRONG for result in results.values()))


def _outcome(number: int) -> Result:
    return outcome(CELLS[number])


if __name__ == "__main__":
    sys.exit(main())
