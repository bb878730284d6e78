"""The description of a short form: a line of literals, operands and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

import msgspec


class Kind(Enum):
    """The kinds of pieces of a form, by the sign that they are described with."""

    LITERAL = ""
    OPERAND = "%"
    SYMBOL = "@"  # an attribute that names a symbol
    NAME = "$"  # a string attribute that is the name of a symbol
    STRING = '"'
    WORD = "~"  # a string attribute, without quotes
    INTEGER = "#"
    TYPE = "!"  # an attribute that is a type
    ATTRIBUTES = "&"  # all attributes that the form has no piece for
    GROUP = "{"  # pieces that are left out if all that they hold is empty


class Piece(msgspec.Struct, frozen=True):
    """A part of a form; one with `many` is a list, separated by commas."""

    kind: Kind
    name: str
    is_spaced: bool
    many: bool = False
    pieces: tuple[Piece, ...] = ()

    def leaves(self) -> Iterator[Piece]:
        """Yield the piece, or those of a group."""
        if self.kind is not Kind.GROUP:
            yield self
        for piece in self.pieces:
            yield from piece.leaves()


_PIECE = re.compile(r'(\s*)([%@$"~#!]?)(\w+)"?(\*?)|(\s*)([][(),:&{}])')


def parse_syntax(text: str) -> tuple[Piece, ...]:
    """Return the pieces of a description."""
    pieces, end = _parse(text, 0)
    assert end == len(text), text[end:]
    return pieces


def _parse(text: str, position: int) -> tuple[tuple[Piece, ...], int]:
    pieces: list[Piece] = []
    while position < len(text) and (match := _PIECE.match(text, position)) is not None:
        position = match.end()
        if match[6] == "}":
            return tuple(pieces), position
        if match[6] == "{":
            inner, position = _parse(text, position)
            pieces.append(Piece(Kind.GROUP, "", False, pieces=inner))
        elif match[6] is not None:
            kind = Kind.ATTRIBUTES if match[6] == "&" else Kind.LITERAL
            pieces.append(Piece(kind, match[6], bool(match[5])))
        else:
            pieces.append(Piece(Kind(match[2]), match[3], bool(match[1]), bool(match[4])))
    return tuple(pieces), position
