"""The page of measurements, and the table of the README, are what the figures say
(`benchmarks/performance/`)."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.performance.__main__ import FIGURES, PAGE  # noqa: E402
from benchmarks.performance.page import (  # noqa: E402
    Figures,
    Table,
    figures_of,
    number,
    page,
    replaced,
    text_of,
)

TABLE = Table(
    "saving",
    "How fast?",
    "ours",
    "Milliseconds.",
    ["workload", "us", "them"],
    [["`a`", "1.5 / 20", "3 / 1,200"], ["`b`", "2", "–"]],
    date="2026-11-21",
    command="python -m benchmarks --rules",
    bold_from=1,
    limits={"us": 1.8},
)
FIGURES_OF_ONE_TABLE = Figures(
    "Method.", {"ours": "two cores", "theirs": "four cores"}, [TABLE], ["Much."]
)


def test_the_page_is_what_its_figures_say() -> None:
    """Run `python -m benchmarks.performance` after a change of figures.json."""
    figures = figures_of(FIGURES.read_text())
    assert page(figures) == PAGE.read_text()
    assert text_of(figures) == FIGURES.read_text()
    assert len({table.name for table in figures.tables}) == len(figures.tables) > 15


def test_the_readme_shows_figures_of_the_page() -> None:
    """Forward and reverse on one thread, rounded, and the date."""
    readme = (ROOT / "README.md").read_text()
    section = readme.partition("## Fast gradients\n")[2].partition("\n## ")[0]
    shown = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    (table,) = [t for t in figures_of(FIGURES.read_text()).tables if t.name == "taichi"]
    columns = [
        table.columns.index(f"{name}, 1 thread") for name in ("mlirad", "Taichi", "Quadrants")
    ]
    measured = {
        row[0].split("`")[1]: [row[k].split(" / ")[1] for k in columns] for row in table.rows
    }
    assert len(shown) > 5
    for workload, *cells in shown:
        times = [number(cell) for cell in measured[workload.split("`")[1]]]
        assert cells == [f"{time:,.1f}" if time < 10 else f"{time:,.0f}" for time in times]
    assert re.findall(r"\d{4}-\d\d-\d\d", section) == [table.date]


def test_a_table_has_its_question_its_machine_and_its_date() -> None:
    text = page(FIGURES_OF_ONE_TABLE)
    assert "on two cores, on 2026-11-21 by `python -m benchmarks --rules`.\n" in text
    assert "| workload | us | them |\n| --- | --- | --- |\n" in text


def test_the_least_of_a_row_is_bold() -> None:
    text = page(FIGURES_OF_ONE_TABLE)
    assert "| `a` | **1.5** / **20** | 3 / 1,200 |\n| `b` | 2 | – |\n" in text


def test_rows_above_a_limit_are_missed() -> None:
    assert page(FIGURES_OF_ONE_TABLE).endswith(
        "## What is missed\n\n- Much.\n- *us* is above its limit of 1.8 (2026-11-21) in `b` (2).\n"
    )


def test_a_table_is_replaced_by_what_a_benchmark_printed() -> None:
    output = (
        "Rules:\n\n| workload | us |\n|---|---|\n| `c` | **7** / 8 |\n\n| more |\n|---|\n| 1 |\n"
    )
    new = replaced(FIGURES_OF_ONE_TABLE, "saving", output, "theirs", "2026-12-01").tables[0]
    assert (new.columns, new.rows) == (["workload", "us"], [["`c`", "7 / 8"]])
    assert (new.machine, new.date, new.question) == ("theirs", "2026-12-01", TABLE.question)
    assert TABLE.rows[0][0] == "`a`"


@pytest.mark.parametrize("cell", ["|", '"', "\\", "a\nb", "[1, 2]"])
def test_figures_are_read_back(cell: str) -> None:
    figures = Figures(
        "a", {"ours": "a"}, [Table("a", "b", "ours", "c", [cell], [[cell, cell]])], [cell]
    )
    assert figures_of(text_of(figures)) == figures
