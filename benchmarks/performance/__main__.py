"""Write docs/performance.md from figures.json; optionally, first replace a table of figures.json by
the output of a benchmark, which is read from the standard input.

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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.performance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--replace",
        metavar="NAME",
        choices=[table.name for table in figures.tables],
        help="table to replace, one of %(choices)s (default: none)",
    )
    parser.add_argument(
        "--machine",
        metavar="MACHINE",
        choices=list(figures.machines),
        help="machine on which the benchmark ran, one of %(choices)s (required with --replace)",
    )
    parser.add_argument(
        "--date",
        default=date.today().isoformat(),
        metavar="DATE",
        help="date of the run, as YYYY-MM-DD (default: today)",
    )
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
