"""Figures of benchmarks as a page of `docs/`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

HEAD = "<!-- `python -m benchmarks.performance` writes this page. -->"


class Table(msgspec.Struct, omit_defaults=True):
    """The answer to one question: a run of a benchmark on one machine."""

    name: str
    question: str
    machine: str
    read: str  # what a reader has to know of the columns
    columns: list[str]
    rows: list[list[str]]
    date: str = ""
    command: str = ""
    figure: str = ""
    bold_from: int = 0  # the column from which on the least of each row is bold
    limits: dict[str, float] = {}  # by column: rows above are listed as missed


class Figures(msgspec.Struct):
    """Everything on the page."""

    method: str
    machines: dict[str, str]
    tables: list[Table]
    missed: list[str]


def figures_of(text: str) -> Figures:
    """Return the figures in a JSON text."""
    return msgspec.json.decode(text, type=Figures)


def text_of(figures: Figures) -> str:
    """Return figures as JSON, one row of a table per line."""
    text = msgspec.json.format(msgspec.json.encode(figures), indent=1).decode()
    row = r'\[\n +("(?:[^"\\]|\\.)*"(?:,\n +"(?:[^"\\]|\\.)*")*)\n +\](?=,?\n {3,})'
    return re.sub(row, lambda match: "[" + re.sub(r",\n +", ", ", match[1]) + "]", text) + "\n"


def page(figures: Figures) -> str:
    """Return the page."""
    parts = ["# Performance", HEAD, _wrapped(figures.method)]
    for table in figures.tables:
        parts += section(table, figures.machines)
    missed = [*figures.missed, *above_limits(figures.tables)]
    parts += ["## What is missed", "\n".join(f"- {line}" for line in missed)]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    """Return a paragraph in lines of at most 150 columns."""
    return textwrap.fill(text, 150, break_long_words=False, break_on_hyphens=False)


def section(table: Table, machines: dict[str, str]) -> Iterator[str]:
    """Yield a question, how it was measured, and its table."""
    yield f"## {table.question}"
    machine = machines[table.machine]
    command = f" by `{table.command}`" if table.command else ""
    if table.date:
        yield f"This was measured on {machine}, on {table.date}{command}."
    else:
        yield f"{machine[0].upper()}{machine[1:]}."
    yield _wrapped(table.read)
    lines = [table.columns, ["---"] * len(table.columns), *_in_bold(table)]
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    if table.figure:
        yield f"![{table.question}]({table.figure})"


def _in_bold(table: Table) -> Iterator[list[str]]:
    """Yield the rows, with the least time of each mode in bold: cells are `forward / gradient`."""
    for row in table.rows:
        first = table.bold_from or len(row)
        cells = [cell.split(" / ") for cell in row[first:]]
        least = [min(times, key=number) for times in zip(*(c for c in cells if len(c) == 2))]
        for times in cells:
            for k, time in enumerate(times if len(times) == 2 else ()):
                times[k] = f"**{time}**" if number(time) == number(least[k]) else time
        yield [*row[:first], *map(" / ".join, cells)]


def number(cell: str) -> float:
    """Return the number that a cell begins with."""
    return float(cell.split()[0].replace(",", ""))


def above_limits(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a line for each limit of a column, with the rows that exceed it."""
    for table in tables:
        for column, limit in table.limits.items():
            cells = {row[0]: row[table.columns.index(column)] for row in table.rows}
            above = {row: cell for row, cell in cells.items() if number(cell) > limit}
            listed = ", ".join(f"{row} ({cell.split()[0]})" for row, cell in above.items())
            if listed:
                yield f"*{column}* is above its limit of {limit:g} ({table.date}) in {listed}."


def replaced(figures: Figures, name: str, output: str, machine: str, date: str) -> Figures:
    """Return figures with the first table of a benchmark's output in the place of another."""
    lines = [line for line in output.splitlines() if line.startswith("|")]
    columns, _, *rows = [
        [cell.strip().replace("**", "") for cell in line.strip().strip("|").split("|")]
        for line in lines
    ]
    table = next(table for table in figures.tables if table.name == name)
    end = next((k for k, row in enumerate(rows) if len(row) != len(columns)), len(rows))
    fresh = {"machine": machine, "date": date, "columns": columns, "rows": rows[:end]}
    new = msgspec.structs.replace(table, **fresh)
    return msgspec.structs.replace(
        figures, tables=[new if table.name == name else table for table in figures.tables]
    )
