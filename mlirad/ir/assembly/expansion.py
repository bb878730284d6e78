"""A text in which short forms were replaced, and where its characters come from."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from mlirad.errors import SourceLocation

Placed = tuple[str, int]  # a text, and where it stands, or where what it stands for does


class Expansion:
    """The text that upstream's parser reads in the place of another one, line for line."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.pieces: list[Placed] = []
        self.moves_operations = False  # whether one begins in another column than in the source

    @property
    def is_changed(self) -> bool:
        """Return whether anything was replaced."""
        return len(self.pieces) > 1

    @cached_property
    def text(self) -> str:
        """The output."""
        raw = "".join([piece for piece, _ in self.pieces])
        return raw if raw.isascii() else raw.encode("latin-1").decode(errors="surrogateescape")

    def add(self, piece: str, origin: int) -> None:
        """Add text that stands for what is at a position of the source."""
        self.pieces.append((piece, origin))

    def copy(self, start: int, end: int) -> None:
        """Add a part of the source."""
        self.pieces.append((self.source[start:end], start))

    @cached_property
    def _starts(self) -> list[int]:
        """Return the positions at which the pieces begin in the output."""
        return [0, *accumulate(len(piece) for piece, _ in self.pieces)]

    @cached_property
    def _lines(self) -> list[int]:
        return _line_starts("".join([piece for piece, _ in self.pieces]))

    @cached_property
    def _source_lines(self) -> list[int]:
        return _line_starts(self.source)

    def place_in_source(self, line: int, column: int) -> tuple[int, int]:
        """Return the line and the column of the source for those of the output, all from 1. Lines
        differ for what stands behind regions, and in front of them in the source."""
        if not 0 < line <= len(self._lines) or column < 1:
            return line, column
        position = self._lines[line - 1] + column - 1
        number = min(bisect_right(self._starts, position), len(self.pieces)) - 1
        piece, origin = self.pieces[number]
        if self.source.startswith(piece, origin):
            origin += position - self._starts[number]
        source_line = bisect_right(self._source_lines, origin)
        return source_line, origin - self._source_lines[source_line - 1] + 1


def _line_starts(text: str) -> list[int]:
    """Return where the lines of a text begin."""
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]


def place_in(text: str, position: int, file: str) -> SourceLocation:
    """Return the line and column of a character."""
    line = 1 + text.count("\n", 0, position)
    return SourceLocation(file, line, position - text.rfind("\n", 0, position))
