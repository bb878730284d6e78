"""Run the table: `python -m programs.memory_changes [--every N] [--from K] [--table FILE]`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from programs.memory_changes.cell import Cell, Outcome, Result, cells, outcome
from programs.memory_changes.refusals import explained
from programs.memory_changes.table import table


def main() -> int:
    """Print what is wrong, or refused for another reason than the table of refusals gives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="run one cell of so many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="begin with this cell")
    parser.add_argument("--table", type=Path, help="write the table of docs/ to this file")
    options = parser.parse_args()
    results: dict[Cell, Result] = {}
    for number, cell in list(enumerate(cells()))[options.first :: options.every]:
        result = results[cell] = outcome(cell)
        if result.outcome is Outcome.WRONG or not explained(cell, result):
            print(f"{number} {cell}: {result.outcome.value}: {result.reason}", flush=True)
    counts = Counter(result.outcome.value for result in results.values())
    print(dict(counts))
    if options.table:
        options.table.write_text(table(results))
    return int(counts[Outcome.WRONG.value] > 0)


sys.exit(main())
