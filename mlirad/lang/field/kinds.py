"""Classes of fields for `isinstance`: `ti.Field`, `ti.ScalarField`, `ti.MatrixField`."""

from __future__ import annotations

from types import GenericAlias

from mlirad.lang.field.components import ComponentField
from mlirad.lang.field.field import Field as WholeField
from mlirad.lang.field.split_field import SplitField
from mlirad.lang.field.unplaced_component import UnplacedComponent


class _Kind(type):
    """A class of fields by what their elements are, however they lie in memory."""

    def __instancecheck__(cls, instance: object) -> bool:
        shape = _element_shape(instance)
        return shape is not None and cls.holds(shape)

    def holds(cls, element_shape: tuple[int, ...]) -> bool:
        """Return whether a field with elements of a shape is one."""
        return True


class Field(metaclass=_Kind):
    """A field of scalars, vectors or matrices."""

    def __class_getitem__(cls, item: object) -> GenericAlias:
        """Return `ti.ScalarField[ti.f32]`, which is for type checkers."""
        return GenericAlias(cls, item)


class ScalarField(Field):
    """A field of scalars, or one component of a field of vectors or matrices."""

    @classmethod
    def holds(cls, element_shape: tuple[int, ...]) -> bool:
        return not element_shape


class MatrixField(Field):
    """A field of vectors or matrices."""

    @classmethod
    def holds(cls, element_shape: tuple[int, ...]) -> bool:
        return bool(element_shape)


def _element_shape(instance: object) -> tuple[int, ...] | None:
    """The shape of a field's elements; None for anything else."""
    if isinstance(instance, ComponentField | UnplacedComponent):
        return ()
    return instance.element_shape if isinstance(instance, WholeField | SplitField) else None
