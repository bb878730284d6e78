"""The types of values as far as a text says them where it defines them: those of arguments and of
results of ops in short form. The writer leaves out of the text what the reader finds so."""

from __future__ import annotations

import re

from mlirad.ir.assembly.tokens import closing, skip_space, type_end

PARAMETERS = re.compile(r'[@^](?:[\w$.-]+|"(?:\\.|[^"\\\n])*")\s*\((?=\s*%)', re.ASCII)
_PARAMETER = re.compile(r"(%[\w$-][\w$.-]*)\s*:\s*", re.ASCII)
_HOLDERS = ("!field.array<", "!grad.")


class Scopes:
    """The types of arrays, stacks and logs by the names of values, region by region."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.hidden: list[dict[str, str | None]] = [{}]  # what each region hides, to be put back

    def enter(self) -> None:
        """Begin a region."""
        self.hidden.append({})

    def leave(self) -> None:
        """End a region, with the values that it defines."""
        if len(self.hidden) == 1:
            return
        for name, type_ in self.hidden.pop().items():
            if type_ is None:
                self.types.pop(name, None)
            else:
                self.types[name] = type_

    def define(self, name: str, type_: str) -> None:
        """Note the type of a value, if it holds something."""
        if type_.startswith(_HOLDERS):
            self.hidden[-1].setdefault(name, self.types.get(name))
            self.types[name] = type_

    def define_arguments(self, text: str, position: int) -> None:
        """Note the types of the arguments in a list that begins at a position."""
        while (match := _PARAMETER.match(text, skip_space(text, position))) is not None:
            end = type_end(text, match.end())
            if end < 0:
                return
            self.define(match[1], text[match.end() : end])
            position = _next_argument(text, end)


def _next_argument(text: str, position: int) -> int:
    """Return where the argument behind attributes and a location begins, or the end."""
    position = skip_space(text, position)
    while text.startswith(("{", "loc("), position):
        end = closing(text, text.index("(" if text.startswith("l", position) else "{", position))
        if end < 0:
            return len(text)
        position = skip_space(text, end)
    return position + 1 if text.startswith(",", position) else len(text)
