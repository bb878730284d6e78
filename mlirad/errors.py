"""The errors that users see, named as Taichi names them."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Sequence

import msgspec


class SourceLocation(msgspec.Struct, frozen=True):
    """A place in a user's program; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The source line with a caret under the column, as Python prints it; empty where the file
        cannot be read."""
        lines = _lines(self.file)
        if not 0 < self.line <= len(lines):
            return ""
        text = lines[self.line - 1]
        shown = text.lstrip()
        caret = " " * max(0, self.column - 1 - (len(text) - len(shown))) + "^"
        return f"    {shown.rstrip()}\n    {caret}"


# other places that a message speaks of, and what is there
Related = Sequence[tuple[SourceLocation, str]]


def spelled(file: str) -> str:
    """The name of a file as texts can hold it: with `\\xff` for a byte that is no UTF-8. Its lines
    are found by that name too."""
    if file.isascii():
        return file
    name = os.fsencode(file).decode(errors="backslashreplace")
    if name != file and name not in linecache.cache:
        lines = linecache.getlines(file)
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    return name


def _lines(file: str) -> list[str]:
    """The lines of a file, or of a cell of a notebook."""
    return [line.rstrip("\n") for line in linecache.getlines(file)]


class TaichiCompilationError(Exception):
    """A kernel cannot be compiled. The message names the file, the line and the reason."""

    def __init__(
        self, message: str = "", location: SourceLocation | None = None, related: Related = ()
    ) -> None:
        self.reason = message
        self.source = location
        self.related = related
        text = message if location is None else located(message, location)
        super().__init__("\n".join([text, *[_shown(place, label) for place, label in related]]))

    def at(self, place: SourceLocation) -> TaichiCompilationError:
        """Return the same error with a location."""
        return type(self)(self.reason, place, self.related)


class TaichiSyntaxError(TaichiCompilationError, SyntaxError):
    """A statement or an expression is not part of the language."""


class TaichiNameError(TaichiCompilationError, NameError):
    """A name is not defined where it is used."""


class TaichiTypeError(TaichiCompilationError, TypeError):
    """An operation does not apply to values of these types."""


class TaichiIndexError(TaichiCompilationError, IndexError):
    """A constant index is out of range, or the number of indices is wrong."""


class TaichiDerivativeError(TaichiCompilationError, RuntimeError):
    """A derivative that cannot be taken, where Taichi finds that out when the program runs."""


class TaichiRuntimeError(RuntimeError):
    """An operation is not possible at this point of the program."""


class TaichiRuntimeTypeError(TaichiRuntimeError, TypeError, ValueError):
    """An argument of a launch has the wrong type or shape."""


class TaichiMemoryError(TaichiRuntimeError, MemoryError):
    """The program requested more memory than the machine has."""


class TaichiAssertionError(TaichiRuntimeError, AssertionError):
    """A failed assertion in a kernel, or in debug mode an index out of range."""


class SplitError(TaichiCompilationError):
    """A kernel whose loops a tape has to launch one by one, to keep what each overwrites, or
    what a clock said."""


class MLIRError(TaichiCompilationError):
    """IR that was rejected by a verifier or a pass."""


def located(message: str, place: SourceLocation) -> str:
    """The message under the place it speaks of, with its source line."""
    return _shown(place, message)


def of_accesses(
    message: str,
    places: Sequence[SourceLocation],
    kind: type[TaichiCompilationError] = TaichiCompilationError,
) -> TaichiCompilationError:
    """An error at the first of some accesses, as far as their places are known, that shows the
    others."""
    if not places:
        return kind(message)
    first, *others = places
    return kind(message, first, [(place, "the other access") for place in others])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the most similar of some names, or nothing."""
    from difflib import get_close_matches  # which nothing else wants

    close = get_close_matches(name, known, n=1, cutoff=0.7)
    return f": did you mean '{close[0]}'?" if close else ""


def _shown(place: SourceLocation, label: str) -> str:
    """A place that a message speaks of too, with its source line."""
    return "\n".join(filter(None, [f"{place}: {label}", place.excerpt()]))
