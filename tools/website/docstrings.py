"""Docstrings as Markdown: sections in Google's style become lists and programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from textwrap import dedent

_TITLE = "Args|Attributes|Returns|Yields|Raises|Warns|Example|Examples|Note"
_SECTION = re.compile(rf"^({_TITLE}):\n((?:[ ]{{2,}}.*\n?|\n)+)", re.MULTILINE)
LISTS = {"Args", "Attributes", "Raises", "Warns"}
TITLES = {"Args": "Arguments"}


def as_markdown(docstring: str) -> str:
    """Return the Markdown of a docstring, which `inspect.getdoc` has freed of its indentation."""
    return _SECTION.sub(_section, docstring).strip()


def _section(match: re.Match[str]) -> str:
    """Return a section: a heading, and a list, a program, or text."""
    title, body = match[1], dedent(match[2]).strip()
    head = f"\n**{TITLES.get(title, title)}**\n\n"
    if title in LISTS:
        return head + "\n".join(_entries(body)) + "\n\n"
    if title.startswith("Example") and _is_python(body):
        return f"{head}```python\n{body}\n```\n\n"
    return f"{head}{body}\n\n"


def _is_python(text: str) -> bool:
    """Return whether a text is a program rather than a sentence."""
    try:
        return bool(ast.parse(text))
    except SyntaxError:
        return False


def _entries(body: str) -> Iterator[str]:
    """Yield `name: what it is` as items of a list; lines that are indented belong to the last."""
    for entry in re.split(r"\n(?! )", body):
        text = " ".join(entry.split())
        name, colon, meaning = text.partition(": ")
        yield (
            f"- `{name}`: {meaning}" if colon and re.fullmatch(r"[\w.*, ]+", name) else f"- {text}"
        )
