"""The HTML of notebooks: tables and headings, whose contents are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def escape(text: str) -> str:
    """Text as a document's."""
    from html import escape as escaped  # with tables of all names of characters

    return escaped(text)


def heading(text: str) -> str:
    """A line above something."""
    return f"<div><code>{escape(text)}</code></div>"


def code_block(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells of text, below names of columns where there are any."""
    lines = [_row(head, "th")] if head else []
    return f"<table>{''.join([*lines, *(_row(row, 'td') for row in rows)])}</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
