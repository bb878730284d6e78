"""Ops that differ by their operands alone: the first one is read piece by piece, the others
as it was. In a long text these are nearly all."""

from __future__ import annotations

import re

import msgspec

from mlirad.ir.assembly.expansion import Placed
from mlirad.ir.assembly.forms import Form
from mlirad.ir.assembly.operation import Generic
from mlirad.ir.assembly.scopes import Scopes
from mlirad.ir.assembly.tokens import VALUE

_LINE = re.compile(r'[^\n"/{}()]*(?:\{[^\n"/{}()]*\}[^\n"/{}()]*)?(?=\n| loc\()')
_Key = tuple[str, str]  # the name of an op, and its text without the names of values


class _Pattern(msgspec.Struct, frozen=True):
    """The common text of ops that differ only in the names of their values."""

    order: tuple[int, ...]  # of the operands, in the generic form
    tail: str
    results: list[str]


class Patterns:
    """The ops of a text that were read, by their form."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.holders: dict[_Key, tuple[int, ...]] = {}  # which values have types that matter
        self.patterns: dict[tuple[_Key, tuple[str | None, ...]], _Pattern] = {}

    def find(
        self, name: str, text: str, position: int
    ) -> tuple[list[Placed], int, list[str]] | None:
        """Return the generic form of the op whose name ends at a position, the position behind it
        and the types of its results, or None if none like it was read."""
        line = _LINE.match(text, position)
        if line is None:
            return None
        key = (name, VALUE.sub("%", line[0]))
        holders = self.holders.get(key)
        if holders is None:
            return None
        values = [(match[0], match.start()) for match in VALUE.finditer(text, position, line.end())]
        types = tuple([self.scopes.types.get(values[k][0]) for k in holders])
        pattern = self.patterns.get((key, types))
        if pattern is None:
            return None
        origin = position - len(name)
        pieces = [(f'"{name}"(', origin)]
        for number, k in enumerate(pattern.order):
            pieces += [(", ", origin), values[k]] if number else [values[k]]
        pieces.append((pattern.tail, origin))
        return pieces, line.end(), pattern.results

    def note(self, generic: Generic, form: Form, text: str, position: int, end: int) -> None:
        """Note an op that was read, from the end of its name to its own."""
        line = _LINE.match(text, position)
        if line is None or line.end() != end:
            return
        key = (generic.name, VALUE.sub("%", line[0]))
        values = [match.start() for match in VALUE.finditer(text, position, end)]
        order = tuple(values.index(origin) for _, origin in generic.operands)
        positions = [*form.operands]
        holders = tuple(order[positions.index(name)] for name in form.holders.values())
        starts = [match[0] for match in VALUE.finditer(text, position, end)]
        types = tuple([self.scopes.types.get(starts[k]) for k in holders])
        self.holders[key] = holders
        tail = f"){generic.tail()}"
        self.patterns[key, types] = _Pattern(order, tail, generic.results)
