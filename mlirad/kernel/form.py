"""Forms of values made up of scalars in order: a scalar, a vector or matrix, a struct, or a
tuple."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ScalarForm(msgspec.Struct, frozen=True):
    """A scalar."""


class MatrixForm(msgspec.Struct, frozen=True):
    """A vector or matrix, row by row."""

    shape: tuple[int, ...]


class StructForm(msgspec.Struct, frozen=True, eq=False):
    """A struct, member by member; `methods` are what its values can be asked to do."""

    members: tuple[tuple[str, Form], ...]
    methods: Mapping[str, object] = msgspec.field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructForm) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)


class TupleForm(msgspec.Struct, frozen=True):
    """A tuple, part by part."""

    parts: tuple[Form, ...]


Form = ScalarForm | MatrixForm | StructForm | TupleForm
