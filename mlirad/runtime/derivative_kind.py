"""Which derivative of a field another field holds."""

from __future__ import annotations

from mlirad.data_classes import data_class, replace


@data_class(frozen=True)
class DerivativeKind:
    """The adjoint of a field, its tangent in a direction, or a tangent of its adjoint."""

    is_adjoint: bool
    direction: int = -1  # of the tangents, from 0; -1 for an adjoint alone

    @property
    def is_tangent(self) -> bool:
        """Whether these are tangents: of the field, or of its adjoint."""
        return self.direction >= 0

    @property
    def alone(self) -> DerivativeKind:
        """What has no kind within it: of the tangent of an adjoint, the tangent."""
        return replace(self, is_adjoint=False) if self.is_tangent else self

    def __lt__(self, other: DerivativeKind) -> bool:
        return (self.is_adjoint, self.direction) < (other.is_adjoint, other.direction)

    def __str__(self) -> str:
        tangent = f"dual{self.direction or ''}"
        if not self.is_tangent:
            return "grad"
        return f"grad.{tangent}" if self.is_adjoint else tangent


ADJOINT = DerivativeKind(True)


def tangent(direction: int) -> DerivativeKind:
    """The tangent of a field in a direction."""
    return DerivativeKind(False, direction)


def tangent_of_adjoint(direction: int) -> DerivativeKind:
    """The tangent of a field's adjoint in a direction."""
    return DerivativeKind(True, direction)
