"""The types of structs: `ti.types.struct(a=ti.f32, v=ti.types.vector(3, ti.f32))`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError, did_you_mean
from mlirad.frontend.python.building.builder import current, in_kernel
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.matrix import Matrix
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.frontend.python.values.struct import (
    METHODS,
    Struct,
    make_field,
    matching_members,
    members_of,
    methods_of,
    refuse_names_twice,
    struct_of,
)
from mlirad.types import DataType, TypeLike, resolve


class StructType:
    """The type of structs with some members. Calling it makes a value of the type."""

    def __init__(self, **members: Any) -> None:
        self.methods: dict[str, Any] = dict(members.pop(METHODS, {}))
        self.declared_by: type | None = None  # the class, of a `@ti.dataclass`
        refuse_names_twice(members, self.methods)
        self.members: dict[str, Any] = {
            name: _member_type(name, declared) for name, declared in members.items()
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Struct:
        """A struct of members given by position or name, or as one dictionary; the others are 0."""
        if len(args) == 1 and not kwargs and self._is_whole(args[0]):
            values = members_of(args[0]) if isinstance(args[0], Struct) else args[0]
            args, kwargs = (), dict(values)
        names = list(self.members)
        if len(args) > len(names):
            raise TaichiCompilationError(
                f"expected {len(names)} values for the members of a struct, got {len(args)}"
            )
        values = dict(zip(names, args))
        for name, value in kwargs.items():
            if name not in self.members:
                raise TaichiCompilationError(
                    f"a struct of members {names} has no member '{name}'{did_you_mean(name, names)}"
                )
            if name in values:
                raise TaichiCompilationError(f"member '{name}' of a struct is given twice")
            values[name] = value
        return self._make({name: values.get(name, 0) for name in names})

    def _is_whole(self, value: object) -> bool:
        """Return whether a single argument stands for all members, not for the first one."""
        first = next(iter(self.members.values()), None)
        if not isinstance(value, Struct | Mapping):
            return False
        return not isinstance(first, StructType) or not _names(value) <= first.members.keys()

    def _make(self, members: Mapping[str, Any]) -> Struct:
        values = {
            name: convert_member(name, kind, members[name]) for name, kind in self.members.items()
        }
        return struct_of(values, self.methods)

    def cast(self, value: Struct | Mapping[str, Any]) -> Struct:
        """A struct of these members in the types that are declared. Raises TaichiTypeError if it
        has others."""
        return self._make(matching_members(value, self.members))

    def __instancecheck__(self, value: object) -> bool:
        return self.mismatch(value) is None

    def mismatch(self, value: object) -> str | None:
        """The reason why a value is not of this type: a member that is missing, of another shape,
        or a float instead of an integer, or the other way round."""
        if not isinstance(value, Struct | Mapping):
            return f"it is a {type(value).__name__}"
        members = members_of(value) if isinstance(value, Struct) else value
        if list(members) != list(self.members):
            return f"its members are {list(members)}"
        for name, kind in self.members.items():
            reason = _mismatch(kind, members[name])
            if reason is not None:
                return f"member '{name}': {reason}"
        return None

    def field(self, **options: Any) -> Any:
        """A field of this type."""
        return make_field(self.members, self.methods, **options)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        if self.declared_by is None:
            raise TaichiSyntaxError("a class cannot inherit from a type made by ti.types.struct")
        return (self.declared_by,)

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={kind}" for name, kind in self.members.items())
        return f"<ti.StructType {members}, struct_methods={self.methods}>"


def type_of(value: Struct) -> StructType:
    """The type of a struct of Python's numbers, in the default types."""
    members = {name: _kind_of(member) for name, member in members_of(value).items()}
    return StructType(**members, **{METHODS: methods_of(value)})


def _kind_of(value: Any) -> Any:
    if isinstance(value, Struct):
        return type_of(value)
    scalars = value.entries if isinstance(value, Matrix) else [value]
    dtype = float if any(isinstance(scalar, float) for scalar in scalars) else int
    if not isinstance(value, Matrix):
        return dtype
    return MatrixType(value.n, value.m if value.ndim == 2 else None, dtype, value.ndim)


def _names(value: Struct | Mapping[str, Any]) -> set[str]:
    return set(members_of(value) if isinstance(value, Struct) else value)


def _member_type(name: str, declared: object) -> Any:
    """The type of a member. Raises TaichiTypeError for an object that is none."""
    if isinstance(declared, MatrixType) and not declared.is_open:
        return declared.as_member()
    if isinstance(declared, StructType):
        return declared
    if isinstance(declared, DataType) or declared in (int, float, bool):
        return declared
    if isinstance(declared, np.dtype) or (
        isinstance(declared, type) and issubclass(declared, np.generic)
    ):
        return resolve(declared)
    raise TaichiTypeError(
        f"member '{name}' of a struct is declared as {declared!r}: expected a scalar type, a "
        "vector or matrix type with sizes, or a struct type"
    )


def convert_member(name: str, kind: Any, value: Any) -> Any:
    if isinstance(kind, StructType):
        if isinstance(value, Struct | Mapping):
            return kind.cast(value)
        return kind(*value) if isinstance(value, list | tuple) else kind(value)
    if isinstance(kind, MatrixType):
        if isinstance(value, Struct | Mapping):
            raise TaichiTypeError(f"member '{name}' is a vector or matrix, not a struct")
        return kind(value)
    if not ex.is_scalar(value):
        raise TaichiTypeError(
            f"member '{name}' of a struct is a scalar, the value is a {type(value).__name__}"
        )
    return _scalar(value, kind)


def _scalar(value: Scalar, kind: TypeLike) -> Any:
    if in_kernel():
        return ex.cast(value, resolve(kind, current().default_fp, current().default_ip))
    dtype = resolve(kind)
    if dtype.is_float:
        return float(value)
    number = int(value)
    return bool(value) if dtype.bits == 1 else np.array(number).astype(dtype.numpy).item()


def _mismatch(kind: Any, value: Any) -> str | None:
    if isinstance(kind, StructType):
        return kind.mismatch(value)
    if isinstance(kind, MatrixType):
        shape = value.shape if isinstance(value, Matrix) else ()
        return None if shape == kind.shape else f"its shape is {shape}, not {kind.shape}"
    if not ex.is_scalar(value):
        return f"it is a {type(value).__name__}"
    wants_float = resolve(kind).is_float
    has_float = ex.dtype_of(value).is_float if in_kernel() else isinstance(value, float)
    return None if wants_float == has_float else f"{kind} is needed"
