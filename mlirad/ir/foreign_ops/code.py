"""Code that computes values in IR, as programs write it: terms, a function, or the name of a
`func.func`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from mlirad.bindings import ir
from mlirad.errors import SourceLocation
from mlirad.ir.elementary.terms import Term

Terms: TypeAlias = tuple[Term | None, ...]


class Application(msgspec.Struct, frozen=True):
    """An op as its rule sees it: the values that stand for its operands and results, of the same
    types, and its attributes. A lowering sees no results."""

    name: str
    operands: Sequence[ir.Value]
    results: Sequence[ir.Value]
    attributes: dict[str, ir.Attribute]


Builder: TypeAlias = Callable[..., ir.Value | Sequence[ir.Value]]
Code: TypeAlias = Terms | Builder | str


class Rule(msgspec.Struct, frozen=True):
    """The derivative of an op, and where it was registered; one of the three, or none of them for a
    constant.

    `terms` are linear in the tangent, one for each operand, as in our table. `partials` computes
    the derivative of each result in each operand of floats, result by result. `linear` computes
    tangents of results from those of operands of floats; `transposed`, which is derived if there is
    none, adjoints of these operands from those of results.
    """

    place: SourceLocation
    terms: Terms | None = None
    partials: Code | None = None
    linear: Builder | str | None = None
    transposed: Builder | str | None = None

    @property
    def is_constant(self) -> bool:
        """Return whether the derivative is zero everywhere."""
        return self.terms is None and self.partials is None and self.linear is None


class Lowering(msgspec.Struct, frozen=True):
    """Code that computes the results of an op, and the place at which it was registered.

    An elementwise op of vectors or tensors is the op of their elements.
    """

    place: SourceLocation
    code: Code
    is_elementwise: bool = False
