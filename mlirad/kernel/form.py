"""How scalars, in order, make up a value: a scalar, a vector or matrix, a struct, or a tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ScalarForm:
    """One scalar."""


@dataclass(frozen=True)
class MatrixForm:
    """A vector or matrix, row by row."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class StructForm:
    """A struct, member by member; `methods` are what its values can be asked to do."""

    members: tuple[tuple[str, Form], ...]
    methods: Mapping[str, object] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class TupleForm:
    """A tuple, part by part."""

    parts: tuple[Form, ...]


Form = ScalarForm | MatrixForm | StructForm | TupleForm
