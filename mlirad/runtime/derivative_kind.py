"""Kinds of derivatives of a field that another field holds."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace


class DerivativeKind(msgspec.Struct, frozen=True, cache_hash=True):
    """The adjoint of a field, its tangent in a direction, or one of these of its gradient."""

    direction: int = -1  # of the tangents, from 0; -1 for an adjoint
    is_outer: bool = False  # an adjoint that lies apart from the gradient
    is_of_gradient: bool = False

    @property
    def is_tangent(self) -> bool:
        """Return whether these are tangents: of the field, or of its gradient."""
        return self.direction >= 0

    @property
    def alone(self) -> DerivativeKind:
        """Return the kind for the field that has it: of the tangent of a gradient, the tangent."""
        return replace(self, is_of_gradient=False)

    @property
    def _order(self) -> tuple[bool, bool, bool, int]:
        return self.is_of_gradient, not self.is_tangent, self.is_outer, self.direction

    def __lt__(self, other: DerivativeKind) -> bool:
        return self._order < other._order  # gradients before what there is of them

    def __str__(self) -> str:
        kind = "outer" if self.is_outer else "grad"
        alone = f"dual{self.direction or ''}" if self.is_tangent else kind
        return f"grad.{alone}" if self.is_of_gradient else alone


ADJOINT = DerivativeKind()
# on a tape of a program that uses the gradient itself
OUTER = DerivativeKind(is_outer=True)


def tangent(direction: int) -> DerivativeKind:
    """The tangent of a field in a direction."""
    return DerivativeKind(direction)


def of_gradient(kind: DerivativeKind) -> DerivativeKind:
    """Return the kind, for the field itself, of a derivative of its gradient."""
    return replace(kind, is_of_gradient=True)


def tangent_of_adjoint(direction: int) -> DerivativeKind:
    """The tangent of a field's adjoint in a direction."""
    return of_gradient(tangent(direction))
