"""Names of fields in what is kept on disk.

A program's fields all have different names, so two kernels that do the same to fields of the same
layout have different modules. What is kept has numbers in their place: those in which the fields
are declared in the kernel's module.
"""

from __future__ import annotations

import re

_DECLARED = re.compile(r'sym_name = "((?:[^"\\]|\\.)+)"')
# of a symbol in IR: never the kind of an operation, a dimension, or a function's place
_BEFORE = '@"', "@", 'sym_name = "'
_BEFORE_IN_MESSAGES = "'", "field ("
_MARK = "\x1a"  # which the text of a module has only as "\1A"
_NUMBER = re.compile(f"{_MARK}([0-9]+){_MARK}")


class OwnNames:
    """Of the fields and trees that the text of a module declares."""

    def __init__(self, module: str) -> None:
        self._names = list(dict.fromkeys(_DECLARED.findall(module)))
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._symbols = self._pattern(_BEFORE)
        self._mentions = self._pattern((*_BEFORE, *_BEFORE_IN_MESSAGES))

    def _pattern(self, before: tuple[str, ...]) -> re.Pattern[str] | None:
        if not self._names:
            return None
        longest_first = sorted(self._names, key=len, reverse=True)
        prefix, name = "|".join(map(re.escape, before)), "|".join(map(re.escape, longest_first))
        return re.compile(rf"({prefix})({name})(?![\w$.-]*[\w$])")

    def numbered(self, text: str) -> str:
        """The text of a module with numbers."""
        return self._without(text, self._symbols)

    def notes_numbered(self, text: str) -> str:
        """The text of notes with numbers, also in messages, which mention fields."""
        return self._without(text, self._mentions)

    def _without(self, text: str, pattern: re.Pattern[str] | None) -> str:
        if pattern is None:
            return text
        return pattern.sub(lambda at: f"{at[1]}{_MARK}{self._numbers[at[2]]}{_MARK}", text)

    def named(self, text: str) -> str:
        """A text with the names in place of numbers."""
        return _NUMBER.sub(lambda at: self._names[int(at[1])], text)
