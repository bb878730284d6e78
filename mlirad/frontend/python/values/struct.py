"""Structs: values by name, which may be structs themselves.

Names of members go before those of this class (`s.keys` is a member if there is one), so the
compiler asks a struct by functions beside it.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiSyntaxError, TaichiTypeError, did_you_mean
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix

METHODS = "__struct_methods"


class Struct:
    """A struct: named values, from keywords as in `ti.Struct(a=1, v=ti.Vector([1.0, 2.0]))`, or
    from a dictionary. Raises TaichiSyntaxError for anything else."""

    def __init__(self, *args: Mapping[str, Any], **members: Any) -> None:
        if len(args) == 1 and not members and isinstance(args[0], Mapping):
            members = dict(args[0])
        elif args:
            raise TaichiSyntaxError(
                "Custom structs need to be initialized using either dictionary or keyword arguments"
            )
        methods = members.pop(METHODS, {})
        members.pop("__matrix_ndim", None)
        refuse_names_twice(members, methods)
        values = {name: member_value(name, value) for name, value in members.items()}
        self.__dict__.update(_values=values, _methods=methods)

    def __getattribute__(self, name: str) -> Any:
        attributes = object.__getattribute__(self, "__dict__")
        if name in attributes.get("_values", ()):
            return attributes["_values"][name]
        if name in attributes.get("_methods", ()):
            return attributes["_methods"][name].__get__(self)
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        members = members_of(self) if "_values" in object.__getattribute__(self, "__dict__") else {}
        raise AttributeError(f"a struct has no member '{name}'{did_you_mean(name, members)}")

    def __setattr__(self, name: str, value: object) -> None:
        if name not in members_of(self):
            raise AttributeError(
                f"a struct has no member '{name}'{did_you_mean(name, members_of(self))}"
            )
        self[name] = value

    def __getitem__(self, name: str) -> Any:
        return members_of(self)[name]

    def __setitem__(self, name: str, value: object) -> None:
        if in_kernel():
            raise TaichiSyntaxError(
                f"member '{name}' of a struct that is not a variable cannot be assigned in a kernel"
            )
        values = members_of(self)
        values[name] = assigned_member(name, values[name], value) if type(values) is dict else value

    @property
    def keys(self) -> list[str]:
        """Return the names of the members."""
        return list(members_of(self))

    @property
    def items(self) -> ItemsView[str, Any]:
        """Return the names and values of the members."""
        return dict(members_of(self)).items()

    @property
    def entries(self) -> dict[str, Any]:
        """Return the values of the members by name."""
        return dict(members_of(self))

    @property
    def methods(self) -> Mapping[str, Any]:
        """Return the functions of the struct by name."""
        return methods_of(self)

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict[str, Any]:
        """Return the members as a dictionary, with matrices as lists."""
        values = members_of(self)
        result: dict[str, Any] = {
            name: to_dict(value, include_methods, include_ndim)
            if isinstance(value, Struct)
            else value.rows_list()
            if isinstance(value, Matrix)
            else value
            for name, value in values.items()
        }
        if include_methods:
            result[METHODS] = dict(methods_of(self))
        if include_ndim:
            ndims = {name: v.ndim for name, v in values.items() if isinstance(v, Matrix)}
            result["__matrix_ndim"] = ndims
        return result

    @classmethod
    def field(
        cls, members: Mapping[str, Any], methods: Mapping[str, Any] | None = None, **options: Any
    ) -> Any:
        """A field of structs."""
        return make_field(members, methods or {}, **options)

    def __len__(self) -> int:
        return len(members_of(self))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a struct cannot be iterated over: iterate over its .keys or .items")

    def __bool__(self) -> bool:
        raise TypeError("a struct has no truth value: test its members")

    def __repr__(self) -> str:
        return str(to_dict(self))


to_dict = Struct.to_dict


def members_of(struct: Struct) -> MutableMapping[str, Any]:
    values: MutableMapping[str, Any] = object.__getattribute__(struct, "__dict__")["_values"]
    return values


def methods_of(struct: Struct) -> Mapping[str, Any]:
    methods: Mapping[str, Any] = object.__getattribute__(struct, "__dict__")["_methods"]
    return methods


_makers: dict[str, Callable[..., Any]] = {}


def make_field(members: Mapping[str, Any], methods: Mapping[str, Any], **options: Any) -> Any:
    return _makers["field"](members, methods, **options)


def set_maker(field: Callable[..., Any]) -> None:
    """Name the function that makes fields of structs."""
    _makers.update(field=field)


def struct_of(values: MutableMapping[str, Any], methods: Mapping[str, Any]) -> Struct:
    """A struct of members that are not copied or checked."""
    struct = Struct.__new__(Struct)
    struct.__dict__.update(_values=values, _methods=methods)
    return struct


def map_members(struct: Struct, make: Callable[[Any], Any]) -> Struct:
    """A struct of the results of a function on each member of another."""
    values = {name: make(value) for name, value in members_of(struct).items()}
    return struct_of(values, methods_of(struct))


def member_value(name: str, value: object) -> Any:
    """A program's value as a member. Raises TaichiTypeError for a value that cannot be one."""
    if isinstance(value, list | tuple):
        return Matrix(value)
    if isinstance(value, Mapping):
        return Struct(value)
    if not (isinstance(value, Matrix | Struct) or ex.is_scalar(value)):
        raise TaichiTypeError(
            f"member '{name}' of a struct is a {type(value).__name__}, expected a scalar, "
            "vector, matrix or struct"
        )
    return value


def assigned_member(name: str, old: object, value: object) -> Any:
    """The new value of a member that is assigned to. Raises TaichiTypeError if the structures
    differ."""
    if isinstance(old, Struct):
        members = matching_members(value, members_of(old))
        return struct_of(
            {n: assigned_member(n, member, members[n]) for n, member in members_of(old).items()},
            methods_of(old),
        )
    if isinstance(old, Matrix):
        if ex.is_scalar(value):
            return old.like([value] * len(old.entries))
        matrix = value if isinstance(value, Matrix) else Matrix(value)  # type: ignore[arg-type]
        if matrix.shape != old.shape:
            raise TaichiTypeError(
                f"member '{name}' of a struct has shape {old.shape}, the value has {matrix.shape}"
            )
        return old.like(list(matrix.entries))
    if not ex.is_scalar(value):
        raise TypeError(
            f"A number is expected when assigning struct members: '{name}' is given a "
            f"{type(value).__name__}"
        )
    return value


def matching_members(value: object, members: Mapping[str, object]) -> Mapping[str, Any]:
    """The members of a struct, or of a dictionary, that has the names of others. Raises
    TaichiTypeError if it has not."""
    if not isinstance(value, Struct | Mapping):
        raise TaichiTypeError(
            "Only dict or Struct can be assigned to a Struct: this is "
            f"{'a number' if ex.is_scalar(value) else f'a {type(value).__name__}'}"
        )
    values = members_of(value) if isinstance(value, Struct) else value
    if values.keys() != members.keys():
        raise TaichiTypeError(f"Member mismatch between structs {list(members)}, {list(values)}")
    return values


def refuse_names_twice(members: Mapping[str, object], methods: Mapping[str, object]) -> None:
    """Raise TaichiCompilationError if a method has the name of a member, or a name is none."""
    for name in members:
        if not isinstance(name, str) or not name.isidentifier():
            raise TaichiCompilationError(f"{name!r} is not a valid name for a member of a struct")
        if name in methods:
            raise TaichiCompilationError(f"'{name}' names both a member and a method of a struct")
