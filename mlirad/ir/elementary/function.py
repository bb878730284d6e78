"""A row of the table of elementary functions: what a function is called and computes, where it is
finite, what other libraries call it, and its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import inf, nextafter

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.elementary.terms import Term, expand

Interval = tuple[float, float]  # both ends included

ALL: Interval = (-inf, inf)
NOWHERE: Interval = (inf, -inf)
UNIT: Interval = (-1.0, 1.0)
POSITIVE: Interval = (nextafter(0.0, 1.0), inf)
ABOVE_MINUS_ONE: Interval = (nextafter(-1.0, 0.0), inf)
NOT_NEGATIVE: Interval = (0.0, inf)
INSIDE_UNIT: Interval = (nextafter(-1.0, 0.0), nextafter(1.0, 0.0))


class Shape(Enum):
    """The shape of a function of one argument, which bounds its result by the bounds of its
    argument."""

    INCREASING = 1
    DECREASING = 2
    VALLEY = 3  # even, and least at 0
    OTHER = 4


class Slope(Enum):
    """Points at which a derivative is infinite."""

    FINITE = 1  # nowhere
    POLE = 2  # at some arguments at which, or near which, the result is finite
    OVERFLOW = 3  # only where the result is as good as infinite


class Function(msgspec.Struct, frozen=True):
    """A function of floats.

    `python` computes it in Python scope. `sentence` documents it, `parameters` are its own.
    `domain` holds the arguments at which it is a finite number, unless it overflows; `range` its
    results. `in_libmvec`: glibc has a version of vectors, by the same name; `intrinsic` is LLVM's
    name, if a GPU has an instruction. `jumps`: its result, or its derivative, jumps at some
    arguments. `expansion` computes it, if there is no `op`.
    """

    name: str
    python: Callable[..., float]
    derivative: tuple[Term | None, ...]
    sentence: str
    parameters: str = "x"
    op: str = ""
    domain: Interval = ALL
    range: Interval = ALL
    shape: Shape = Shape.OTHER
    slope: Slope = Slope.FINITE
    in_libmvec: bool = False
    intrinsic: str = ""
    jumps: bool = False
    expansion: Term | None = None

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.parameters.split(", "))


def value_of(function: Function, operands: Sequence[ir.Value]) -> ir.Value:
    """The op, or the ops, of a function, of floats of one type."""
    if function.expansion is not None:
        return expand(function.expansion, operands)
    return b.make(function.op, operands[0].type, operands)
