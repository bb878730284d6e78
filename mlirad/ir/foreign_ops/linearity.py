"""Linearity in the tangent of terms that programs register."""

from __future__ import annotations

from enum import Enum

from mlirad.ir.elementary.terms import (
    Apply,
    Choose,
    Constant,
    Convert,
    Quiet,
    Tangent,
    Term,
    Where,
)
from mlirad.ir.ops import Arith


class Degree(Enum):
    """The degree of a term in the tangent."""

    ZERO, CONSTANT, LINEAR, OTHER = range(4)


def degree(term: Term) -> Degree:
    """Return how a term depends on the tangent."""
    if isinstance(term, Tangent | Convert):
        return Degree.LINEAR
    if isinstance(term, Constant):
        return Degree.CONSTANT if term.value else Degree.ZERO
    if isinstance(term, Quiet):
        return degree(term.term)
    if isinstance(term, Choose):
        return _sum(degree(term.then), degree(term.otherwise))
    if isinstance(term, Where):
        compared = {degree(term.left), degree(term.right)}
        is_constant = compared <= {Degree.ZERO, Degree.CONSTANT}
        return _sum(degree(term.then), degree(term.otherwise)) if is_constant else Degree.OTHER
    if isinstance(term, Apply):
        return _of_application(term.name, [degree(argument) for argument in term.arguments])
    return Degree.CONSTANT


def _of_application(name: str, degrees: list[Degree]) -> Degree:
    if name == Arith.NEGF:
        return degrees[0]
    if name in (Arith.ADDF, Arith.SUBF):
        return _sum(*degrees)
    constants = {Degree.ZERO, Degree.CONSTANT}
    if {*degrees} <= constants:
        return Degree.CONSTANT
    factors = {*degrees} - constants
    is_product = name == Arith.MULF or (name == Arith.DIVF and degrees[1] in constants)
    if is_product and factors == {Degree.LINEAR} and degrees.count(Degree.LINEAR) == 1:
        return Degree.LINEAR
    return Degree.OTHER


def _sum(first: Degree, second: Degree) -> Degree:
    if first is Degree.ZERO or first is second:
        return second
    return first if second is Degree.ZERO else Degree.OTHER
