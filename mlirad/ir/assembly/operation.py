"""One op in short form, read piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mlirad.errors import MLIRError
from mlirad.ir.assembly.expansion import Placed, place_in
from mlirad.ir.assembly.forms import Form
from mlirad.ir.assembly.resolution import Types
from mlirad.ir.assembly.scopes import Scopes
from mlirad.ir.assembly.syntax import Kind, Piece
from mlirad.ir.assembly.tokens import (
    INTEGER,
    STRING,
    SYMBOL,
    VALUE,
    WORD,
    closing,
    skip_space,
    type_end,
)

_WORDS = {
    Kind.OPERAND: (VALUE, "a value"),
    Kind.SYMBOL: (SYMBOL, "the name of a symbol"),
    Kind.NAME: (SYMBOL, "a name, as @x"),
    Kind.STRING: (STRING, "a string"),
    Kind.WORD: (WORD, "a word"),
    Kind.INTEGER: (INTEGER, "an integer"),
}
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|\s+')


class Generic(msgspec.Struct):
    """The parts of an op in generic form."""

    name: str
    operands: list[Placed]
    attributes: list[Placed]
    types: list[Placed]  # of the operands
    results: list[str]

    def head_pieces(self, start: int) -> Iterator[Placed]:
        """Yield the name and the operands; `start` is where the op begins."""
        yield f'"{self.name}"(', start
        yield from listed(self.operands, start)
        yield ")", start

    def pieces(self, start: int) -> Iterator[Placed]:
        """Yield the pieces of an op without regions."""
        yield from self.head_pieces(start)
        yield from self.placed_tail(start)

    def placed_tail(self, start: int) -> Iterator[Placed]:
        """Yield what follows the operands, or the regions."""
        for piece, origin in self._tail_pieces():
            yield piece, start if origin < 0 else origin

    def _tail_pieces(self) -> Iterator[Placed]:
        """Yield what follows the operands; of what stands nowhere, the place is -1."""
        for number, (attribute, origin) in enumerate(self.attributes):
            yield ", " if number else " {", -1
            yield attribute, origin
        yield "} : (" if self.attributes else " : (", -1
        for number, (type_, origin) in enumerate(self.types):
            yield ", " if number else "", -1
            yield type_, origin
        plain = len(self.results) == 1 and not self.results[0].startswith("(")
        listed = ", ".join(self.results)
        yield f") -> {listed}" if plain else f") -> ({listed})", -1

    def tail(self) -> str:
        """Return what follows the operands."""
        return "".join(piece for piece, _ in self._tail_pieces())


class Phrase:
    """The text behind the name of an op."""

    def __init__(self, form: Form, text: str, position: int, file: str) -> None:
        self.form, self.text, self.position, self.file = form, text, position, file
        self.operands: dict[str, list[Placed]] = {name: [] for name in form.operands}
        self.values: dict[str, Placed] = {}
        self.dictionary: Placed | None = None

    def error(self, position: int, message: str) -> MLIRError:
        """Return an error at a position."""
        return MLIRError(message, place_in(self.text, position, self.file))

    def read(self, name: str, scopes: Scopes) -> Generic:
        """Read the op. Raises MLIRError if it has another form."""
        attributes = self.read_pieces()
        types = Types(self.form, self.operands, scopes, self.error)
        place = skip_space(self.text, self.position)
        types.bind(self.types(), place)
        operands = [operand for group in self.operands.values() for operand in group]
        return Generic(name, operands, attributes, types.of_operands(place), types.of_results())

    def read_pieces(self) -> list[Placed]:
        """Read all but the types, and return the attributes."""
        for piece in self.form.pieces:
            self._piece(piece)
        attributes = [(f"{key} = {value}", at) for key, (value, at) in self._values().items()]
        return attributes if self.dictionary is None else [*attributes, self.dictionary]

    def _values(self) -> dict[str, Placed]:
        values = {key: value for key, (value, _) in self.values.items()}
        for key, default in self.form.defaults.items():
            if key not in values:
                self.values[key] = (default(values), -1)
        if self.form.has_segments:
            sizes = ", ".join(str(len(group)) for group in self.operands.values())
            self.values["operandSegmentSizes"] = (f"array<i32: {sizes}>", -1)
        return self.values

    def _ahead(self, word: str) -> int:
        """Return where a literal begins, or -1 if it is not the next word."""
        position = skip_space(self.text, self.position)
        end = position + len(word)
        if not self.text.startswith(word, position):
            return -1
        is_longer = word.isalpha() and self.text[end : end + 1].isidentifier()
        return -1 if is_longer else position

    def _piece(self, piece: Piece) -> None:
        if piece.kind is Kind.GROUP:
            if self._ahead(piece.pieces[0].name) >= 0:
                for inner in piece.pieces:
                    self._piece(inner)
        elif piece.kind is Kind.LITERAL:
            self._literal(piece.name)
        elif piece.kind is Kind.ATTRIBUTES:
            self._dictionary()
        else:
            self._word(piece)

    def _literal(self, word: str) -> None:
        position = self._ahead(word)
        if position < 0:
            raise self.error(skip_space(self.text, self.position), f"expected '{word}'")
        self.position = position + len(word)

    def _dictionary(self) -> None:
        keyword = "attributes" if self.form.has_regions else "{"
        if self._ahead(keyword) < 0:
            return
        if self.form.has_regions:
            self._literal(keyword)
        start = skip_space(self.text, self.position)
        end = closing(self.text, start) if self.text.startswith("{", start) else -1
        if end < 0:
            raise self.error(start, "expected attributes in braces")
        self.position = end
        inside = self.text[start + 1 : end - 1]
        if inside.strip():
            self.dictionary = (_in_one_line(inside), start + 1)

    def _word(self, piece: Piece) -> None:
        words = self._list(piece) if piece.many else [self._one_word(piece)]
        if piece.kind is Kind.OPERAND:
            self.operands[piece.name] += words
            return
        origin = words[0][1] if words else self.position
        text = ", ".join(word for word, _ in words)
        self.values[piece.name] = (f"[{text}]" if piece.many else text, origin)

    def _list(self, piece: Piece) -> list[Placed]:
        """Read words with commas between them, or none."""
        pattern, _ = _WORDS[piece.kind]
        if not pattern.match(self.text, skip_space(self.text, self.position)):
            return []
        words = [self._one_word(piece)]
        while (comma := self._ahead(",")) >= 0:
            self.position = comma + 1
            words.append(self._one_word(piece))
        return words

    def _one_word(self, piece: Piece) -> Placed:
        start = skip_space(self.text, self.position)
        if piece.kind is Kind.TYPE:
            return self.type_(), start
        pattern, description = _WORDS[piece.kind]
        match = pattern.match(self.text, start)
        if match is None:
            raise self.error(start, f"expected {description}")
        self.position = match.end()
        return _value(piece, match[0]), start

    def types(self) -> list[Placed]:
        """Read a colon and types, or nothing."""
        if self._ahead(":") < 0:
            return []
        self._literal(":")
        words = []
        while True:
            start = skip_space(self.text, self.position)
            words.append((self.type_(), start))
            if self._ahead(",") < 0:
                return words
            self._literal(",")

    def type_(self) -> str:
        """Read a type."""
        start = skip_space(self.text, self.position)
        end = type_end(self.text, start)
        if end <= start:
            raise self.error(start, "expected a type")
        self.position = end
        return _in_one_line(self.text[start:end])


def listed(pieces: Sequence[Placed], start: int) -> Iterator[Placed]:
    """Yield pieces with commas in between."""
    for number, piece in enumerate(pieces):
        if number:
            yield ", ", start
        yield piece


def _value(piece: Piece, word: str) -> str:
    """Return how the generic form has a word."""
    if piece.kind is Kind.NAME:
        return word[1:] if word.startswith('@"') else f'"{word[1:]}"'
    if piece.kind is Kind.WORD:
        return f'"{word}"'
    return f"{word} : i64" if piece.kind is Kind.INTEGER and not piece.many else word


def _in_one_line(text: str) -> str:
    """Return a text without ends of lines and comments."""
    if "\n" not in text and "//" not in text:
        return text
    return _COMMENT.sub(lambda match: match[1] or " ", text).strip()
