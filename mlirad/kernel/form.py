"""How scalars, in order, make up a value: a scalar, a vector or matrix, a struct, or a tuple."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.data_classes import data_class, field


@data_class(frozen=True)
class ScalarForm:
    """One scalar."""


@data_class(frozen=True)
class MatrixForm:
    """A vector or matrix, row by row."""

    shape: tuple[int, ...]


@data_class(frozen=True)
class StructForm:
    """A struct, member by member; `methods` are what its values can be asked to do."""

    members: tuple[tuple[str, Form], ...]
    methods: Mapping[str, object] = field(default_factory=dict, compare=False)


@data_class(frozen=True)
class TupleForm:
    """A tuple, part by part."""

    parts: tuple[Form, ...]


Form = ScalarForm | MatrixForm | StructForm | TupleForm
