"""Numbers, matrices and structs as arguments of a launch: scalar by scalar, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.struct import Struct, members_of
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.kernel.arguments import ValueArgument
from mlirad.kernel.form import Form, MatrixForm, ScalarForm, StructForm
from mlirad.lang.arguments.numbers import convert_scalar, entries_of, scalar_type
from mlirad.runtime.config import Config
from mlirad.types import DataType


def value_argument(kind: Any, config: Config) -> ValueArgument:
    """Return a number, a matrix or a struct of a declared type as the frontend sees it."""
    return ValueArgument(_form(kind), tuple(_dtypes(kind, config)))


def _form(kind: Any) -> Form:
    if isinstance(kind, StructType):
        members = [(name, _form(member)) for name, member in kind.members.items()]
        return StructForm(tuple(members), kind.methods)
    return MatrixForm(kind.shape) if isinstance(kind, MatrixType) else ScalarForm()


def _dtypes(kind: Any, config: Config) -> list[DataType]:
    if isinstance(kind, StructType):
        return [dtype for member in kind.members.values() for dtype in _dtypes(member, config)]
    count = kind.n * kind.m if isinstance(kind, MatrixType) else 1
    return [scalar_type(kind, config)] * count


def _struct_entries(value: object, declared: StructType, config: Config, name: str) -> list[Any]:
    if not isinstance(value, Struct | Mapping):
        raise _refusal(value, declared, name)
    members = members_of(value) if isinstance(value, Struct) else value
    if members.keys() != declared.members.keys():
        raise _refusal(value, declared, name)
    entries: list[Any] = []
    for member, kind in declared.members.items():
        entries += value_entries(members[member], kind, config, f"{name}.{member}")
    return entries


def value_entries(value: object, kind: Any, config: Config, name: str) -> list[Any]:
    """The scalars of an argument of a declared type. Raises TaichiRuntimeTypeError for a value of
    another type."""
    if isinstance(kind, StructType):
        return _struct_entries(value, kind, config, name)
    dtype = scalar_type(kind, config)
    if isinstance(kind, MatrixType):
        return entries_of(value, kind.shape, dtype, name)
    return [convert_scalar(value, dtype, name)]


def _refusal(value: object, declared: StructType, name: str) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(
        f"Argument {name}: {type(value)} cannot be converted into required type {declared}"
        + (f", it is {value!r}" if isinstance(value, Struct) else "")
    )
