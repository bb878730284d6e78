"""Lists in a text from which upstream's parser makes attributes without looking at what is in
them: it would end the process for what is not expected there."""

from __future__ import annotations

import re

_GAP = r"(?:\s|//[^\n]*)*"
_START, _NUMBER = re.compile(f"{_GAP}\\["), re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)\Z")
_MAPS = re.compile(r"\bindexing_maps\s*=\s*\[")
_NO_RESULTS = re.compile(r"->\s*\(\s*\)")
_FEWEST_MAPS = 2  # of a product, for it to be looked at
_MARK = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|->|[\[({<]|[\])}>]|,')
_OPENING, _CLOSING = "[({<", "])}>"
_BEHIND = re.compile(r'\bins\b|\n\s*[%}"]|\b(?:linalg|vector)\.')  # what a product begins with
_ALIAS = re.compile(r"#[\w$.-]+\Z")


def problem_of_list(text: str, start: int, end: int) -> str | None:
    """Return what is wrong with the list that a name at a position begins, or nothing."""
    name = re.split(r"[\s=]", text[start:end].strip('"'))[0]
    if name == "linalg.matmul":
        return _problem_of_maps(text, end)
    if name == "iterator_types":
        return _problem_of_iterators(text, end)
    if _character_before(text, start) in ("{", ","):  # an attribute of any type
        return None
    return _problem_of_numbers(name, text, end)


def _problem_of_iterators(text: str, end: int) -> str | None:
    for item in _items(text, end):
        if not _resolved(item, text).lstrip().startswith(('"', "#")):
            return f"an iterator type {item}, expected a string"
    return None


def _problem_of_numbers(name: str, text: str, end: int) -> str | None:
    if _START.match(text, end) is None:
        return f"{name} that are not a list of numbers"
    wrong = [item for item in _items(text, end) if not _NUMBER.match(item)]
    return f"{name} that are not a list of numbers: {wrong[0]}" if wrong else None


def _problem_of_maps(text: str, end: int) -> str | None:
    """A product looks at the results of maps that are not there."""
    behind = _BEHIND.search(text, end)
    maps = _MAPS.search(text, end, len(text) if behind is None else behind.start())
    if maps is None:
        return None
    items = _items(text, maps.end() - 1)
    if len(items) < _FEWEST_MAPS:
        return f"{len(items)} indexing maps of a product, expected 3"
    if any(_NO_RESULTS.search(_resolved(item, text)) for item in items):
        return "an indexing map of a product that has no results"
    return None


def _resolved(item: str, text: str) -> str:
    """Return what a name of an attribute stands for."""
    if not _ALIAS.match(item):
        return item
    definition = re.search(rf"^[ \t]*{re.escape(item)}\s*=(.*)$", text, re.MULTILINE)
    return item if definition is None else definition[1]


def _items(text: str, position: int) -> list[str]:
    """Return the items of the list that begins at a position, or none if there is no list."""
    start = _START.match(text, position)
    if start is None:
        return []
    items, depth, begin = list[str](), 0, start.end()
    for mark in _MARK.finditer(text, begin):
        if mark[0] in _OPENING:
            depth += 1
        elif mark[0] in _CLOSING and depth:
            depth -= 1
        elif mark[0] == "]" or (mark[0] == "," and not depth):
            items.append(text[begin : mark.start()])
            begin = mark.end()
            if mark[0] == "]":
                break
    return [clean for item in items if (clean := _without_comments(item).strip())]


def _character_before(text: str, position: int) -> str:
    """Return the last character in front of a position that is neither blank nor in a comment."""
    while position > 0:
        start = text.rfind("\n", 0, position) + 1
        line = _without_comments(text[start:position]).rstrip()
        if line:
            return line[-1]
        position = start - 1
    return ""


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)
