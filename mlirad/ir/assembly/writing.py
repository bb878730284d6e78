"""Short forms in the place of generic ones, in a text that upstream printed.

Each line of the output is a line of the input, or, if it calls a derivative, two. An op of which
the short form cannot say all is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from mlirad.ir.assembly.derivative_calls import DERIVATIVES, join_calls
from mlirad.ir.assembly.forms import ELEMENT, Form, forms
from mlirad.ir.assembly.scopes import PARAMETERS, Scopes
from mlirad.ir.assembly.syntax import Kind, Piece
from mlirad.ir.assembly.tokens import INTEGER, STRING, SYMBOL, closing, element_of, entries, split

_HEAD = re.compile(
    r'( *(?:(%[\w-]+)(?::\d+)?(?:, [^=]*)? = )?)"([a-z]+\.\w+)"\(([^()]*)\)', re.ASCII
)
_RESULTS = r"\(((?:[^()]|\([^()]*\))*)\)"  # a function's type is one in brackets
_TAIL = re.compile(rf" : \(([^()]*)\) -> (?:{_RESULTS}|(\S[^()]*?))(| loc\(.*)", re.ASCII)
_REGION = " ({"
_SYMBOL_NAME = re.compile(r'"([A-Za-z_][\w$.]*)"', re.ASCII)
_LIST = re.compile(r"\[(.*)\]")


_MARK = re.compile("\0(\\d+)\0")
_Key = tuple[str, str, tuple[str | None, ...]]  # name, end, and types of operands
_Template = tuple[str, str | None]  # a short form for `str.format`, and the type of the result


class Unsayable(Exception):
    """The short form of an op cannot say all that its generic form says."""


class _Head(msgspec.Struct, frozen=True):
    """The beginning of an op in generic form, with the line that it is in."""

    line: int
    prefix: str  # blanks, and the names of the results
    name: str
    operands: list[str]


class _Tail(msgspec.Struct, frozen=True):
    """The end of an op in generic form: behind its operands or its regions."""

    attributes: dict[str, str | None]
    operands: list[str]  # their types
    results: list[str]
    location: str


def shorten(text: str) -> str:
    """Return the text of a module with our ops in short form."""
    if '"' not in text:
        return text
    writer = _Writer(text.split("\n"))
    writer.write()
    has_derivatives = any(f"{name} @" in line for line in writer.lines for name in DERIVATIVES)
    return "\n".join(join_calls(writer.lines) if has_derivatives else writer.lines)


class _Writer:
    """Goes through lines, and replaces those of our ops."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.scopes = Scopes()
        self.open: list[_Head | None] = []  # the regions around a line, with the op of each
        self.forms = forms()
        self.templates: dict[_Key, _Template | None] = {}

    def write(self) -> None:
        """Replace all lines that can be."""
        for number, line in enumerate(self.lines):
            head = None
            if line.lstrip(" ").startswith("}"):
                head = self._close(line, number)
            elif '"' in line:
                head = self._op(line, number)
            if line.endswith("{"):
                self.open.append(head)
                self.scopes.enter()
            if "%" in line and ("!field.array<" in line or "!grad." in line):
                for match in PARAMETERS.finditer(line):
                    self.scopes.define_arguments(line, match.end())

    def _close(self, line: str, number: int) -> _Head | None:
        """End a region; the op whose next one begins in the same line, if it has more."""
        head = self.open.pop() if self.open else None
        self.scopes.leave()
        if head is None or line.lstrip(" ").startswith("}, {"):
            return head
        tail = _parse_tail(line, line.index("}") + 2) if "})" in line else None
        if tail is not None:
            try:
                header = self._short(self.forms[head.name], head, tail, {})
            except Unsayable:
                return None
            self.lines[head.line] = f"{header} {{"
            self.lines[number] = f"{line[: line.index('}')]}}}{tail.location}"
        return None

    def _op(self, line: str, number: int) -> _Head | None:
        """Replace an op in one line; one with regions is left until its end."""
        match = _HEAD.match(line)
        form = None if match is None else self.forms.get(match[3])
        if match is None or form is None:
            return None
        head = _Head(number, match[1], match[3], match[4].split(", ") if match[4] else [])
        if form.has_regions:
            return head if line.startswith(_REGION, match.end()) else None
        location = line.find(" loc(", match.end())
        end = line[match.end() :] if location < 0 else line[match.end() : location]
        template = self._template(form, head, end)
        if template is not None:
            text, result = template
            place = "" if location < 0 else line[location:]
            self.lines[number] = f"{match[1]}{text.format(*head.operands)}{place}"
            if match[2] is not None and result is not None:
                self.scopes.define(match[2], result)
        return None

    def _template(self, form: Form, head: _Head, end: str) -> _Template | None:
        """Return the short form of ops that end so, or None if there is none. Most ops of a text
        differ by their operands alone."""
        types = tuple([self.scopes.types.get(value) for value in head.operands])
        key = (head.name, end, types)
        if key not in self.templates:
            marks = [f"\0{number}\0" for number in range(len(head.operands))]
            tail = _parse_tail(end, 0)
            self.templates[key] = None
            if tail is not None and not tail.location:
                with suppress(Unsayable):
                    types_of_marks = dict(zip(marks, types))
                    text = self._short(form, _Head(0, "", head.name, marks), tail, types_of_marks)
                    text = _MARK.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}"))
                    result = tail.results[0] if len(tail.results) == 1 else None
                    self.templates[key] = (text, result)
        return self.templates[key]

    def _short(
        self, form: Form, head: _Head, tail: _Tail, types_of_values: Mapping[str, str | None]
    ) -> str:
        """Return the short form of an op, up to its regions or its location. Raises Unsayable if
        there is none."""
        types = _Types(form, head.operands, tail)
        attributes = _sayable(form, tail.attributes)
        if form.has_segments:
            sizes = ", ".join(str(len(types.groups[name])) for name in form.operands)
            if attributes.pop("operandSegmentSizes", None) != f"array<i32: {sizes}>":
                raise Unsayable
        phrase = _Phrase(form, types.groups, attributes)
        words = types.spelled(types_of_values)
        if not words and form.bare_list is not None and not types.groups[form.bare_list]:
            raise Unsayable  # what follows would be read as operands
        colon = f" : {', '.join(words)}" if words else ""
        return f"{head.prefix}{head.name}{phrase.text()}{colon}"


def _parse_tail(line: str, position: int) -> _Tail | None:
    """Return the parts of a line behind the operands of an op."""
    attributes: dict[str, str | None] | None = {}
    if line.startswith(" {", position):
        end = closing(line, position + 1)
        attributes = None if end < 0 else entries(line[position + 2 : end - 1])
        position = end
    match = None if attributes is None else _TAIL.fullmatch(line, position)
    if attributes is None or match is None:
        return None
    results = match[2] if match[3] is None else match[3]
    return _Tail(attributes, split(match[1]), split(results), match[4])


def _sayable(form: Form, attributes: dict[str, str | None]) -> dict[str, str]:
    """Return the attributes with values as text; a unit attribute has an empty one."""
    values = {name: value or "" for name, value in attributes.items()}
    for name, default in form.defaults.items():
        if name not in values:
            raise Unsayable
        if values[name] == default(values):
            del values[name]
    return values


class _Types:
    """The types of an op, by the letters of its form."""

    def __init__(self, form: Form, operands: Sequence[str], tail: _Tail) -> None:
        self.form, self.letters = form, dict[str, list[str]]()
        self.groups = _grouped(form, operands, tail)
        if len(tail.operands) != len(operands):
            raise Unsayable
        position = 0
        for name, letter in form.operands.items():
            end = position + len(self.groups[name])
            self._bind(letter, tail.operands[position:end], is_list=name in form.lists)
            position = end
        self._bind_results(tail.results)

    def _bind(self, letter: str, types: list[str], *, is_list: bool) -> None:
        if not _is_letter(letter):
            if any(type_ != letter for type_ in types):
                raise Unsayable
        elif not (is_list and not types) and self.letters.setdefault(letter, types) != types:
            raise Unsayable

    def _bind_results(self, types: list[str]) -> None:
        results = self.form.results
        if results and results[0].endswith("*"):
            letter = results[0].removesuffix("*")
            count = len(next(iter(self.groups.values()), []))
            if not _is_letter(letter) and len(types) != count:
                raise Unsayable
            self._bind(letter, types, is_list=False)
        elif len(types) != len(results):
            raise Unsayable
        else:
            for letter, type_ in zip(results, types):
                self._bind(letter, [type_], is_list=False)

    def spelled(self, types: Mapping[str, str | None]) -> list[str]:
        """Return the types that are written. Raises Unsayable if one would not be found again."""
        form, letters = self.form, self.letters
        if ELEMENT in letters and [element_of(*letters["H"])] != letters[ELEMENT]:
            raise Unsayable
        operands = {letter: self.groups[name][0] for letter, name in form.holders.items()}
        if any([types.get(operands[h])] != letters[h] for h in operands):
            return [letters[letter][0] for letter in form.holders]
        words = [letters.get(letter.removesuffix("*"), []) for letter in form.types]
        return [type_ for listed in words for type_ in listed]


def _is_letter(type_: str) -> bool:
    return len(type_) == 1


def _grouped(form: Form, operands: Sequence[str], tail: _Tail) -> dict[str, list[str]]:
    """Return the operands by their names in the form."""
    sizes: list[int] | None = None
    if form.has_segments:
        segments = tail.attributes.get("operandSegmentSizes") or ""
        sizes = [int(size) for size in INTEGER.findall(segments.partition(":")[2])]
    elif len(form.lists) <= 1:
        left = len(operands) - len(form.operands) + len(form.lists)
        sizes = [left if name in form.lists else 1 for name in form.operands]
    if sizes is None or len(sizes) != len(form.operands) or sum(sizes) != len(operands):
        raise Unsayable
    if min(sizes, default=0) < 0:
        raise Unsayable
    groups, position = dict[str, list[str]](), 0
    for name, size in zip(form.operands, sizes):
        groups[name] = list(operands[position : position + size])
        position += size
    return groups


class _Phrase:
    """The pieces of a form, said of an op."""

    def __init__(
        self, form: Form, groups: dict[str, list[str]], attributes: dict[str, str]
    ) -> None:
        self.form, self.groups, self.left = form, groups, attributes
        self.words: list[str] = []
        self.values = {name: attributes.pop(name, None) for name in form.attributes}

    def text(self) -> str:
        """Return what follows the name of the op, without types."""
        for number, piece in enumerate(self.form.pieces):
            self._say(piece, is_first=number == 0)
        return "".join(self.words)

    def _say(self, piece: Piece, *, is_first: bool = False) -> None:
        if piece.kind is Kind.GROUP:
            if any(not self._is_empty(leaf) for leaf in piece.pieces):
                for inner in piece.pieces:
                    self._say(inner)
            return
        word = self._attributes() if piece.kind is Kind.ATTRIBUTES else self._word(piece)
        if word:
            self.words.append(f" {word}" if piece.is_spaced or is_first else word)

    def _is_empty(self, piece: Piece) -> bool:
        if piece.kind is Kind.OPERAND:
            return not self.groups[piece.name]
        return piece.kind is Kind.LITERAL or self.values[piece.name] is None

    def _attributes(self) -> str:
        if not self.left:
            return ""
        pairs = [f"{name} = {value}" if value else name for name, value in self.left.items()]
        keyword = "attributes " if self.form.has_regions else ""
        return f"{keyword}{{{', '.join(pairs)}}}"

    def _word(self, piece: Piece) -> str:
        if piece.kind is Kind.LITERAL:
            return piece.name
        if piece.kind is Kind.OPERAND:
            return ", ".join(self.groups[piece.name])
        value = self.values[piece.name]
        if value is None:
            raise Unsayable
        word = (_list if piece.many else _said)(piece.kind, value)
        if word is None:
            raise Unsayable
        return word


def _list(kind: Kind, value: str) -> str | None:
    """Return the items of an array attribute, if they are what a piece lists."""
    match, item = _LIST.fullmatch(value), INTEGER if kind is Kind.INTEGER else SYMBOL
    items = [] if match is None else split(match[1])
    is_plain = match is not None and all(item.fullmatch(word) for word in items)
    return ", ".join(items) if is_plain else None


def _name(value: str) -> str | None:
    plain = _SYMBOL_NAME.fullmatch(value)
    if plain is not None:
        return f"@{plain[1]}"
    return f"@{value}" if SYMBOL.fullmatch(f"@{value}") else None


def _said(kind: Kind, value: str) -> str | None:
    """Return the word of a form for an attribute, or None if there is none."""
    if kind is Kind.NAME:
        return _name(value)
    match = _SAYABLE[kind].fullmatch(value)
    return None if match is None else match[match.lastindex or 0]


_SAYABLE = {
    Kind.SYMBOL: SYMBOL,
    Kind.STRING: STRING,
    Kind.WORD: re.compile(r'"([A-Za-z_]\w*)"', re.ASCII),
    Kind.INTEGER: re.compile(r"(-?\d+) : i64", re.ASCII),
    Kind.TYPE: re.compile(r"[a-z]\w*", re.ASCII),
}
