"""Results as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.driver import Case, Measured, deviation
from benchmarks.systems import OURS

AGREES = 2e-3  # of the gradient's norm, for sums of millions of f32 terms in different orders
COLUMNS = {
    "launch": (
        ("empty", "empty kernel, µs"),
        ("launch", "launch, µs"),
        ("with_scalars", "two scalars, µs"),
        ("tape", "forward and reverse in a tape, µs"),
    ),
    "first_call": (
        ("start", "import, ms"),
        ("first_primal", "first call, ms"),
        ("first_gradient", "first gradient, ms"),
        ("all", "from process start, ms"),
    ),
}
WORKLOAD = (("primal", "primal, ms"), ("gradient", "primal and gradient, ms"))


def columns(case: Case) -> Sequence[tuple[str, str]]:
    """The quantities of a case, with their headings."""
    return COLUMNS.get(case.name, WORKLOAD)


def table(case: Case, results: dict[str, Measured]) -> str:
    """A case as a table: one line a system, each number with its ratio to ours."""
    names = columns(case)
    ours = results[OURS]
    rows = [["system", *(heading for _, heading in names), "gradient"]]
    for name, measured in results.items():
        if measured.error:
            rows.append([name, *["–"] * len(names), measured.error[:60]])
            continue
        cells = [_cell(measured.median(key), ours.median(key), name == OURS) for key, _ in names]
        rows.append([name, *cells, _agreement(ours, measured, name)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    threads = "one thread" if case.threads == 1 else f"{case.threads} threads"
    return "\n".join([f"{case.name}, {case.size}, {threads}", "", *lines, ""])


def _cell(value: float | None, ours: float | None, is_ours: bool) -> str:
    if value is None:
        return "–"
    if is_ours or not ours:
        return f"{value:.3g}"
    return f"{value:.3g} ({value / ours:.2g}x)"


def _agreement(ours: Measured, measured: Measured, name: str) -> str:
    if name == OURS:
        return "reference"
    away = deviation(ours, measured)
    if away is None:
        return "–"
    return f"agrees ({away:.0e})" if away < AGREES else f"DIFFERS ({away:.0e})"


def disagreements(case: Case, results: dict[str, Measured]) -> list[str]:
    """Systems whose gradient is not ours, and those that failed."""
    found = [f"{case.name}: {name}: {m.error}" for name, m in results.items() if m.error]
    for name, measured in results.items():
        away = deviation(results[OURS], measured)
        if away is not None and not away < AGREES:
            found.append(
                f"{case.name}: the gradient of {name} differs from ours by {away:.0e} of its norm"
            )
    return found
