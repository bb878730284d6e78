"""Statements of random functions about complex numbers."""

from __future__ import annotations

from programs.foreign_functions.control import Statements
from programs.foreign_functions.writer import Float, Scope

_BINARY = ("add", "sub", "mul", "div")
_UNARY = ("exp", "sin", "cos", "conj", "neg", "log", "sqrt", "tanh")


def compute(statements: Statements, scope: Scope) -> None:
    """Make complex numbers of floats, combine them, and take them apart."""
    writer, type_ = statements.writer, f"complex<{statements.type}>"
    left, right = _number(statements, scope), _number(statements, scope)
    name = writer.random.choice(_BINARY)
    value = writer.value(f"complex.{name} {left}, {right} : {type_}")
    if writer.chance(0.6):
        value = writer.value(
            f"complex.{writer.random.choice(_UNARY)} {_inside(statements, value)} : {type_}"
        )
    kind = writer.random.choice(("re", "im", "abs", "angle", "both"))
    for taken in ("re", "im") if kind == "both" else (kind,):
        number = Float(writer.value(f"complex.{taken} {value} : {type_}"), statements.type, 64.0)
        scope.floats.append(statements.scalars.bounded(number))


def _number(statements: Statements, scope: Scope) -> str:
    """Write a number whose real part is at least 0.3, and whose parts are at most 3."""
    scalars, type_ = statements.scalars, statements.type
    real = scalars.bounded(statements.value(scope, 1), 1.0)
    imaginary = scalars.bounded(statements.value(scope, 1), 1.0)
    moved = scalars.sum([real, scalars.constant(type_, 1.4)])
    return statements.writer.value(
        f"complex.create {moved.name}, {imaginary.name} : complex<{type_}>"
    )


def _inside(statements: Statements, value: str) -> str:
    """Write a number of a real part that is positive and not large, of another."""
    writer, type_ = statements.writer, statements.type
    scalars, parts = statements.scalars, []
    for name in ("re", "im"):
        held = writer.value(f"complex.{name} {value} : complex<{type_}>")
        parts.append(writer.value(f"math.tanh {held} : {type_}"))
    moved = scalars.sum([Float(parts[0], type_, 1.0), scalars.constant(type_, 1.4)])
    return writer.value(f"complex.create {moved.name}, {parts[1]} : complex<{type_}>")
