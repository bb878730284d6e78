"""Builders of elementwise ops: each element of a result is of those of the operands."""

from collections.abc import Callable
from typing import Protocol

from mlirad.bindings import ir


class Unary(Protocol):
    """A builder of an op on a scalar or vector whose result has its type."""

    def __call__(self, a: ir.Value, /, **attributes: ir.Attribute) -> ir.Value: ...


class Binary(Protocol):
    """A builder of an op on scalars or vectors of one type, which the result has too."""

    def __call__(self, a: ir.Value, b: ir.Value, /, **attributes: ir.Attribute) -> ir.Value: ...


class Ternary(Protocol):
    """A builder of an op whose result has the type of the last two operands."""

    def __call__(
        self, a: ir.Value, b: ir.Value, c: ir.Value, /, **attributes: ir.Attribute
    ) -> ir.Value: ...


class Conversion(Protocol):
    """A builder of an op that converts a value to a type."""

    def __call__(self, value: ir.Value, type_: ir.Type, **attributes: ir.Attribute) -> ir.Value: ...


def unary(name: str) -> Unary:
    """Return the builder of an op."""
    return _elementwise(name)


def binary(name: str) -> Binary:
    """Return the builder of an op."""
    return _elementwise(name)


def ternary(name: str) -> Ternary:
    """Return the builder of an op."""
    return _elementwise(name)


def _elementwise(name: str) -> Callable[..., ir.Value]:
    def build(*operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        return ir.Operation.create(name, [operands[-1].type], operands, attributes).result

    return build


def conversion(name: str) -> Conversion:
    """Return the builder of an op."""

    def build(value: ir.Value, type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
        return ir.Operation.create(name, [type_], [value], attributes).result

    return build
