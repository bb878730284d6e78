"""The last line of a statement of several lines."""

from __future__ import annotations

import inspect
from ast import PyCF_ONLY_AST
from collections.abc import Sequence

_ATTEMPTS = 8  # to find the end of a function


def definition(lines: Sequence[str]) -> list[str]:
    """The lines of the function that begins with the first of these.

    It ends where a line is indented less than its body, and what is before is a whole statement.
    `inspect` looks for that by tokens, whose patterns take longer to compile than a small kernel.
    """
    start = indent(lines[0])
    attempts = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and (is_blank(lines[end]) or indent(lines[end]) > start):
            continue
        if _is_statement("if True:\n" * bool(start) + "".join(lines[:end])):
            while is_blank(lines[end - 1]):
                end -= 1
            return [*lines[:end]]
        attempts += 1
        if attempts == _ATTEMPTS:
            break
    return [*inspect.getblock([*lines])]


def indent(line: str) -> int:
    """The width of the white space before a line."""
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def is_blank(line: str) -> bool:
    """Return whether a line holds no code."""
    return line.strip()[:1] in ("", "#")


def _is_statement(text: str) -> bool:
    try:
        compile(text, "<string>", "exec", flags=PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
