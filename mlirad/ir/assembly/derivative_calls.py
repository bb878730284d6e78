"""A derivative that is called where it is named: `%r = grad.vjp @f(%x, %dy) {active = [0]} : ...`.

These are two ops: the derivative, which is a function, and the `func.call_indirect` behind it. The
type that is written is that of the function. Both ops have the place, or the location, of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from mlirad.ir.assembly.expansion import Placed
from mlirad.ir.assembly.forms import Form
from mlirad.ir.assembly.operation import Generic, Phrase, listed
from mlirad.ir.assembly.tokens import closing, skip_space, split

DERIVATIVES = ("grad.vjp", "grad.jvp")
LOCATION = re.compile(r"[ \t]*loc\(")
_FORM = Form("@callee(%arguments*)", {"arguments": "T"}, types="T")
_IS_CALL = re.compile(r'\s*@(?:[\w$.]+|"(?:\\.|[^"\\\n])*")\s*\(', re.ASCII)
_VALUE = r"%[\w$.-]+"
_DERIVATIVE = re.compile(
    rf"( *)({_VALUE}) = (grad\.(?:vjp|jvp) @\S+) (\{{.*?\}}) : (\(.*)", re.ASCII
)
_CALL = re.compile(
    rf" *((?:{_VALUE}(?::\d+)?(?:, {_VALUE})* = )?)(?:func\.)?call_indirect ({_VALUE})"
    r"(\([^()]*\)) : (\(.*)",
    re.ASCII,
)


class DerivativeCall(msgspec.Struct, frozen=True):
    """A derivative and its call, as they were read."""

    derivative: Generic
    arguments: list[Placed]
    type: Placed
    location: str
    end: int  # behind the type

    def pieces_of_derivative(self, name: str, start: int) -> Iterator[Placed]:
        """Yield the derivative, as a value of a name; `start` is where the line's op begins."""
        yield f"{name} = ", start
        yield from self.derivative.pieces(start)
        yield f"{self.location} ", start

    def pieces_of_call(self, name: str, start: int) -> Iterator[Placed]:
        """Yield the call of the value of a name."""
        yield f"func.call_indirect {name}(", start
        yield from listed(self.arguments, start)
        yield ") : ", start
        yield self.type


def is_call(name: str, text: str, position: int) -> bool:
    """Return whether an op, whose name ends at a position, is a derivative that is called."""
    return name in DERIVATIVES and _IS_CALL.match(text, position) is not None


def read_call(name: str, text: str, position: int, file: str) -> DerivativeCall:
    """Read what follows the name of a derivative that is called. Raises MLIRError, with the place,
    if it has another form."""
    phrase = Phrase(_FORM, text, position, file)
    attributes = phrase.read_pieces()
    arguments = phrase.operands["arguments"]
    place = skip_space(text, phrase.position)
    types = phrase.types()
    if not types:
        raise phrase.error(place, "expected ':' and the type of the derivative")
    if len(types) > 1:
        raise phrase.error(types[1][1], "expected one type, that of the derivative")
    problem = _problem(types[0][0], len(arguments))
    if problem is not None:
        raise phrase.error(types[0][1], problem)
    derivative = Generic(name, [], attributes, [], [types[0][0]])
    end = phrase.position
    return DerivativeCall(derivative, arguments, types[0], _location_at(text, end), end)


def _problem(type_: str, arguments: int) -> str | None:
    """Return what is wrong with the type of a derivative, if it is no alias."""
    if type_.startswith("!"):
        return None
    if not type_.startswith("("):
        return f"{type_} is not a function type"
    expected = len(split(type_[1 : closing(type_, 0) - 1]))
    if expected == arguments:
        return None
    return f"the type has {expected} argument{'s' * (expected != 1)}, and the call {arguments}"


def _location_at(text: str, position: int) -> str:
    """Return the location that is written at a position, or nothing."""
    match = LOCATION.match(text, position)
    return "" if match is None else text[position : closing(text, match.end() - 1)]


def join_calls(lines: Sequence[str]) -> list[str]:
    """Return lines in short form in which a derivative and its only use, a call in the next line,
    are one line."""
    joined, number = list[str](), 0
    while number < len(lines):
        line = _joined(lines, number)
        joined.append(lines[number] if line is None else line)
        number += 1 if line is None else 2
    return joined


def _joined(lines: Sequence[str], number: int) -> str | None:
    """Return the line of a derivative together with the next one, if they can be one line."""
    derivative = _DERIVATIVE.fullmatch(lines[number])
    call = _CALL.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
    if derivative is None or call is None:
        return None
    indent, name, head, attributes, end = derivative.groups()
    results, callee, arguments, call_end = call.groups()
    if (callee, call_end) != (name, end) or _is_in(name, arguments):
        return None
    if any(_is_in(name, line) for line in _lines_behind(lines, number + 2, len(indent))):
        return None
    return f"{indent}{results}{head}{arguments} {attributes} : {end}"


def _lines_behind(lines: Sequence[str], number: int, indent: int) -> Iterator[str]:
    """Yield the lines from one on to the end of a region whose ops are so far to the right."""
    for line in lines[number:]:
        if len(line) - len(line.lstrip(" ")) < indent:
            return
        yield line


def _is_in(name: str, text: str) -> bool:
    """Return whether a text has a value."""
    return re.search(rf"{re.escape(name)}(?![\w$.-])", text, re.ASCII) is not None
