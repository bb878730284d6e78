"""Generic forms in the place of short ones, in a text that upstream's parser is to read."""

from __future__ import annotations

import re
from functools import cached_property

from mlirad.ir.assembly.derivative_calls import LOCATION, is_call, read_call
from mlirad.ir.assembly.expansion import Expansion
from mlirad.ir.assembly.forms import forms
from mlirad.ir.assembly.operation import Generic, Phrase
from mlirad.ir.assembly.patterns import Patterns
from mlirad.ir.assembly.scopes import Scopes
from mlirad.ir.assembly.tokens import closing, skip_space, type_end

_MAY_HAVE = re.compile(r"(?:^|[\s=}){])(?:field|grad|snode|te)\.[a-z]", re.ASCII)
# begins with literals, by which the search skips what begins otherwise
_NEWS = re.compile(
    r'//[^\n]*|"(?:\\.|[^"\\\n])*"|{|}|field\.[a-z_]+|grad\.[a-z_]+|snode\.[a-z_]+|te\.[a-z_]+'
    r'|@(?:[\w$.-]+|"(?:\\.|[^"\\\n])*")\s*\((?=\s*%)|\^[\w$.-]+\s*\((?=\s*%)',
    re.ASCII,
)
_DEFINITIONS = ('"field.get"', '"field.alloca"', '"field.shared"', '"grad.alloc"', '"grad.open"')
_OUTSIDE = re.compile(r'(?<![\w@%!#^$."-])[a-z]+\.[a-z_]+(?![\w.$-])', re.ASCII)
_RESULT = re.compile(r"(%[\w$-][\w$.-]*)(?::\d+)?\s*=\s*", re.ASCII)
_RESULTS = re.compile(
    r"%[\w$-][\w$.-]*(?::\d+)?\s*(?:,\s*%[\w$-][\w$.-]*(?::\d+)?\s*)*=\s*", re.ASCII
)
_ALONE = re.compile(r"[ \t)}]*(?://[^\n]*)?(?:\n|$)")
_IS_KEY = re.compile(r"\s*[,=}>)\]]")

_Open = tuple[Generic, int]  # an op in short form whose regions are open, and where it begins


def expand(text: str, file: str) -> Expansion:
    """Return the text with our ops in generic form. Raises MLIRError, with the place, for an op of
    which the short form cannot be read."""
    if not text.isascii():  # columns count bytes
        text = text.encode(errors="surrogateescape").decode("latin-1")
    expansion = Expansion(text)
    if _MAY_HAVE.search(text):
        _Reader(expansion, file).read()
    else:
        expansion.copy(0, len(text))
    return expansion


class _Reader:
    """Goes through a text, and notes the types of arrays on the way."""

    def __init__(self, expansion: Expansion, file: str) -> None:
        self.expansion, self.text, self.file = expansion, expansion.source, file
        self.scopes = Scopes()
        self.patterns = Patterns(self.scopes)
        self.open: list[_Open | None] = []  # the braces around a position
        self.forms = forms()
        self.names = 0  # of derivatives that are called
        self.done = 0  # up to where the text was copied or replaced

    def read(self) -> None:
        """Replace all short forms."""
        position, search = 0, _NEWS.search
        while (match := search(self.text, position)) is not None:
            position, word = match.end(), match[0]
            if word == "{":
                self._enter(None)
            elif word == "}":
                position = self._leave(position)
            elif word.startswith(('"', "/")):
                if word in _DEFINITIONS:
                    self._note_type(match.start(), position)
            elif word.startswith(("@", "^")):
                self.scopes.define_arguments(self.text, position)
            elif word in self.forms:
                position = self._short(word, match.start())
        self.expansion.copy(self.done, len(self.text))

    def _enter(self, region: _Open | None) -> None:
        self.open.append(region)
        self.scopes.enter()

    def _leave(self, position: int) -> int:
        """End a region; the position behind what belongs to it."""
        region = self.open.pop() if self.open else None
        self.scopes.leave()
        if region is None:
            return position
        comma = skip_space(self.text, position)
        brace = skip_space(self.text, comma + 1)
        if self.text.startswith(",", comma) and self.text.startswith("{", brace):
            self._enter(region)
            return brace + 1
        generic, origin = region
        self.expansion.copy(self.done, position)
        self.done = position
        self.expansion.add(")", origin)
        self.expansion.pieces += generic.placed_tail(origin)
        self._note_moves(position)
        return position

    def _short(self, name: str, start: int) -> int:
        """Replace an op; the position behind it."""
        form, end = self.forms[name], start + len(name)
        result = self._result(start)
        if not _OUTSIDE.match(self.text, start) or (result is None and self._is_key(start, end)):
            return end
        if is_call(name, self.text, end):
            return self._call(name, start)
        self.expansion.copy(self.done, start)
        pattern = self.patterns.find(name, self.text, end)
        if pattern is not None:
            pieces, self.done, results = pattern
            self.expansion.pieces += pieces
        else:
            phrase = Phrase(form, self.text, end, self.file)
            generic = phrase.read(name, self.scopes)
            if form.has_regions:
                return self._header(generic, phrase, start)
            self.done, results = phrase.position, generic.results
            self.expansion.pieces += generic.pieces(start)
            if not self._add_lines(start):
                self.patterns.note(generic, form, self.text, end, self.done)
        self._note_moves(self.done)
        if result is not None and len(results) == 1:
            self.scopes.define(result, results[0])
        return self.done

    def _call(self, name: str, start: int) -> int:
        """Replace a derivative that is called; the position behind it."""
        call = read_call(name, self.text, start + len(name), self.file)
        value, begin = self._free_name(), self._results_start(start)
        self.expansion.copy(self.done, begin)
        self.expansion.pieces += call.pieces_of_derivative(value, start)
        self.expansion.copy(begin, start)
        self.expansion.pieces += call.pieces_of_call(value, start)
        self.expansion.moves_operations = True
        self.done = call.end
        self._add_lines(start)
        return self.done

    def _add_lines(self, start: int) -> int:
        """Add the ends of lines that the text of the op at a position has, and return how many."""
        lines = self.text.count("\n", start, self.done)
        if lines:
            self.expansion.add("\n" * lines, self.done - 1)
        return lines

    def _free_name(self) -> str:
        """Return a name that no value has."""
        self.names += 1
        return f"{self.prefix}{self.names}"

    @cached_property
    def prefix(self) -> str:
        """Return a prefix that no name of a value in the text has."""
        prefix = "%derivative"
        while prefix in self.text:
            prefix += "_"
        return prefix

    def _results_start(self, start: int) -> int:
        """Return where the names of the results of an op begin."""
        begin, name = start, self.text.rfind("%", 0, start)
        while name >= 0 and _RESULTS.fullmatch(self.text, name, start):
            begin, name = name, self.text.rfind("%", 0, name)
        return begin

    def _header(self, generic: Generic, phrase: Phrase, start: int) -> int:
        """Replace the beginning of an op with regions; the position behind it."""
        brace = skip_space(self.text, phrase.position)
        if not self.text.startswith("{", brace):
            raise phrase.error(brace, f"expected '{{' and a region of '{generic.name}'")
        self.expansion.pieces += generic.head_pieces(start)
        lines = self.text.count("\n", start, brace)
        self.expansion.add(f" ({{{chr(10) * lines}", brace)
        self.done = brace + 1
        self._note_moves(self.done)
        self._enter((generic, start))
        return self.done

    def _note_moves(self, end: int) -> None:
        """Note whether an operation may follow in the line."""
        if _ALONE.match(self.text, end) is not None:
            return
        location = LOCATION.match(self.text, end)
        if location is not None:
            end = max(end, closing(self.text, location.end() - 1))
        if _ALONE.match(self.text, end) is None:
            self.expansion.moves_operations = True

    def _result(self, start: int) -> str | None:
        """Return the name of the result of the op that begins at a position."""
        match = _RESULT.fullmatch(self.text, max(0, self.text.rfind("%", 0, start)), start)
        return None if match is None else match[1]

    def _is_key(self, start: int, end: int) -> bool:
        """Return whether the name of an op is that of an attribute here."""
        position = start
        while position and self.text[position - 1].isspace():
            position -= 1
        before, gap = self.text[position - 1 : position], self.text[position:start]
        if before == "{" and "\n" in gap and self.text.startswith("}", skip_space(self.text, end)):
            return not self.forms[self.text[start:end]].is_name  # else a region of this op
        return before == "," or (
            before in ("{", "(", "<", "[", "=") and bool(_IS_KEY.match(self.text, end))
        )

    def _note_type(self, start: int, position: int) -> None:
        """Note the type of an array in generic form, from its name and the position behind it."""
        position = skip_space(self.text, position)
        if not self.text.startswith("(", position):
            return
        position = skip_space(self.text, closing(self.text, position))
        if self.text.startswith("{", position):
            position = skip_space(self.text, closing(self.text, position))
        types = skip_space(self.text, position + 1)
        arrow = skip_space(self.text, closing(self.text, types))
        type_ = skip_space(self.text, arrow + 2)
        end = type_end(self.text, type_)
        result = self._result(start)
        is_op = self.text.startswith(":", position) and self.text.startswith("->", arrow)
        if is_op and end > type_ and result is not None:
            self.scopes.define(result, self.text[type_:end])
