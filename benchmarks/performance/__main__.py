"""Write docs/performance.md from figures.json, after replacing a table by what a benchmark printed:

python -m benchmarks.performance [--replace NAME --machine MACHINE [--date DATE] < OUTPUT]
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from benchmarks.performance.page import figures_of, page, replaced, text_of

FIGURES = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).parents[2] / "docs/performance.md"


def main() -> None:
    """Run the command line."""
    figures = figures_of(FIGURES.read_text())
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance", description=__doc__)
    parser.add_argument("--replace", choices=[table.name for table in figures.tables])
    parser.add_argument("--machine", choices=list(figures.machines))
    parser.add_argument("--date", default=date.today().isoformat(), help="of the run, YYYY-MM-DD")
    settings = parser.parse_args()
    if settings.replace and not settings.machine:
        parser.error("--replace requires --machine")
    if settings.replace:
        run = (settings.replace, sys.stdin.read(), settings.machine, settings.date)
        figures = replaced(figures, *run)
        FIGURES.write_text(text_of(figures))
    PAGE.write_text(page(figures))


if __name__ == "__main__":
    main()
