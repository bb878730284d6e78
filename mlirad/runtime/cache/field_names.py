"""Names of fields in what is kept on disk.

A program's fields all have different names, so two kernels that do the same to fields of the same
layout have different modules. What is kept has numbers in their place: those in which the fields
are declared in the kernel's module. Texts of the program stay as they are, whatever they look like.
"""

from __future__ import annotations

import re

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TEXTS = re.compile(_TEXT)
_DECLARED = re.compile(r'sym_name = "([^"\\]*(?:\\.[^"\\]*)*)"')
_END = r"(?![\w$.-]*[\w$])"
# of a symbol in IR: never the kind of an operation, a dimension, or a function's place
_SYMBOL = (
    r'(?P<before>(?:@|sym_name = (?="))(?P<quote>")?)(?P<name>{names})'
    r'(?P<behind>(?(quote)"|{end}))'
)
_MENTION = r"(?P<before>'|field \(|Snode )(?P<name>{names})(?P<behind>{end})"  # in our messages
_MARK = "\x1a"  # which the text of a module has only as "\1A"
_NUMBER = re.compile(f"{_MARK}([0-9]+){_MARK}")


class FieldNames:
    """The names of the fields and trees that the text of a module declares."""

    def __init__(self, module: str) -> None:
        names = list(dict.fromkeys(_DECLARED.findall(module)))
        self._names, self._numbers = names, {name: number for number, name in enumerate(names)}
        if not names:
            return
        longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        symbol, mention = (
            pattern.format(names=longest_first, end=_END) for pattern in (_SYMBOL, _MENTION)
        )
        self._texts = set(_TEXTS.findall(module))  # of the program
        self._symbols_and_texts, self._mentions = f"{symbol}|{_TEXT}", re.compile(mention)
        # to look for texts takes several times as long
        has_likeness = any("@" in text for text in self._texts)
        self._symbols = re.compile(self._symbols_and_texts if has_likeness else symbol)

    def number_names(self, text: str) -> str:
        """The text of a module with numbers."""
        return self._symbols.sub(self._number, text) if self._names else text

    def number_notes(self, text: str) -> str:
        """The text of notes with numbers, also in messages of ours, which mention fields."""
        if not self._names:
            return text
        return re.sub(self._symbols_and_texts, self._number_or_message, text)

    def _number(self, match: re.Match[str]) -> str:
        if match["name"] is None:
            return match[0]  # a text
        number = self._numbers[match["name"]]
        return f"{match['before']}{_MARK}{number}{_MARK}{match['behind']}"

    def _number_or_message(self, match: re.Match[str]) -> str:
        if match["name"] is None and match[0] not in self._texts:
            return self._mentions.sub(self._number, match[0])
        return self._number(match)

    def restore_names(self, text: str) -> str:
        """A text with the names in place of numbers."""
        return _NUMBER.sub(lambda at: self._names[int(at[1])], text)
