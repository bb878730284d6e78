"""Words of MLIR's textual form: values, symbols, brackets, types, entries of dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?", re.ASCII)
SYMBOL = re.compile(r'@(?:[A-Za-z_][\w$.]*|"(?:\\.|[^"\\\n])*")', re.ASCII)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
INTEGER = re.compile(r"-?\d+", re.ASCII)
SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_BRACKET = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|->|[<>]=|[][(){}<>]')
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_TYPE_NAME = re.compile(r"!?[A-Za-z_][\w$.]*", re.ASCII)
_PLAIN_TYPE = re.compile(r'!?[A-Za-z_][\w$.]*(?:<[^<>()"\n]*>|(?!<))', re.ASCII)
_KEY = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_PLAIN_ENTRIES = re.compile(
    r'[\w.]+(?: = (?:"[^"\\,]*"|[@\w.-]+(?: : \w+)?))?'
    r'(?:, [\w.]+(?: = (?:"[^"\\,]*"|[@\w.-]+(?: : \w+)?))?)*',
    re.ASCII,
)
_ELEMENT = re.compile(
    r"!field\.array<(\w+),.*>|!grad\.stack<(\w+)>|!grad\.log<(\w+),.*>"
    r"|tensor<(?:(?:\?|\d+)x)*(\w+(?:<\w+>)?)>",
    re.ASCII | re.DOTALL,
)


def skip_space(text: str, position: int) -> int:
    """Return where the next word begins, behind blanks and comments."""
    match = SPACE.match(text, position)
    return position if match is None else match.end()


def closing(text: str, position: int) -> int:
    """Return the position behind the bracket that closes the one at a position, or -1."""
    stack: list[str] = []
    for match in _BRACKET.finditer(text, position):
        bracket = match[0]
        if bracket in _CLOSING:
            stack.append(_CLOSING[bracket])
        elif bracket in (")", "]", "}", ">"):
            if not stack or stack.pop() != bracket:
                return -1
            if not stack:
                return match.end()
    return -1


def type_end(text: str, position: int) -> int:
    """Return the position behind the type that begins at a position, or -1."""
    plain = _PLAIN_TYPE.match(text, position)
    if plain is not None:
        return plain.end()
    if text.startswith("(", position):
        end = skip_space(text, closing(text, position))
        if end <= position or not text.startswith("->", end):
            return -1
        results = skip_space(text, end + 2)
        return closing(text, results) if text.startswith("(", results) else type_end(text, results)
    name = _TYPE_NAME.match(text, position)
    return -1 if name is None else closing(text, name.end())


def split(text: str) -> list[str]:
    """Return the items of a list without its brackets, separated by commas."""
    if not any(mark in text for mark in '"([{<'):
        return [item.strip() for item in text.split(",")] if text.strip() else []
    items, start, position = list[str](), 0, 0
    for match in _separators(text):
        items.append(text[start:match].strip())
        start = position = match + 1
    last = text[max(start, position) :].strip()
    return [*items, last] if items or last else []


def _separators(text: str) -> Iterator[int]:
    """Yield the commas of a text that no brackets and no quotes are around."""
    depth = 0
    for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|->|[<>]=|[][(){}<>,]', text):
        mark = match[0]
        if mark in "([{<":
            depth += 1
        elif mark in ")]}>":
            depth -= 1
        elif mark == "," and depth == 0:
            yield match.start()


def entries(text: str) -> dict[str, str | None] | None:
    """Return the entries of a dictionary without its braces, or None if it is no plain one."""
    items = text.split(", ") if _PLAIN_ENTRIES.fullmatch(text) else split(text)
    pairs: dict[str, str | None] = {}
    for item in items:
        key, equals, value = item.partition(" = ")
        if not _KEY.fullmatch(key) or key in pairs:
            return None
        pairs[key] = value if equals else None
    return pairs


@lru_cache(1024)
def element_of(type_: str) -> str | None:
    """Return the type of an element of an array, a stack, a log or a tensor."""
    match = _ELEMENT.fullmatch(type_)
    return None if match is None else match[match.lastindex or 0]
