"""`ti.types.argpack`: several arguments of a kernel that are passed as one."""

from __future__ import annotations

import sys
from collections.abc import ItemsView, Iterator, KeysView
from dataclasses import fields
from functools import cache
from typing import Any

from mlirad.errors import TaichiRuntimeTypeError, TaichiSyntaxError, did_you_mean
from mlirad.frontend.python.places.views import ARRAY, OFFSET, SIZE
from mlirad.frontend.python.values.annotations import (
    BufferViewType,
    NdarrayType,
    declared_type,
    is_dataclass_type,
)
from mlirad.types import i32


class ArgPackType:
    """The names of some arguments, and what each is declared as, a pack too. Calling it makes a
    pack of values."""

    def __init__(self, members: dict[str, Any], name: str | None = None) -> None:
        self.members, self.name = members, name

    def __call__(self, **values: Any) -> ArgPack:
        return ArgPack(self, values)

    def values_of(self, value: object) -> dict[str, Any] | None:
        """Return the values of a pack of this type by name; None for anything else."""
        pack = getattr(value, "__argument_pack__", value)
        return pack._values if isinstance(pack, ArgPack) and pack._kind is self else None

    def __repr__(self) -> str:
        if self.name is not None:
            return self.name
        return f"argpack({', '.join(f'{name}={kind}' for name, kind in self.members.items())})"


class DataclassPack(ArgPackType):
    """The members of one of Python's dataclasses, whose objects are passed as packs."""

    def __init__(self, cls: type[Any], members: dict[str, Any]) -> None:
        super().__init__(members, cls.__name__)
        self._cls = cls

    def values_of(self, value: object) -> dict[str, Any] | None:
        if not isinstance(value, self._cls):
            return None
        return {name: getattr(value, name) for name in self.members}


@cache
def dataclass_pack(cls: type[Any]) -> DataclassPack:
    """Return the members of a dataclass as arguments. Raises TaichiSyntaxError for an annotation
    that is text and names nothing in the module of the class."""
    members = {}
    for member in fields(cls):
        kind: Any = member.type
        if isinstance(kind, str):
            try:
                kind = eval(kind, vars(sys.modules[cls.__module__]), dict(vars(cls)))
            except (NameError, AttributeError, SyntaxError):
                raise TaichiSyntaxError(
                    f"Invalid type annotation (member {member.name}) of dataclass "
                    f"'{cls.__name__}': {kind}"
                ) from None
        members[member.name] = kind
    return DataclassPack(cls, members)


class ViewPack(ArgPackType):
    """The members of a view as arguments: its array, where it begins, how many elements it has."""

    def __init__(self, declared: BufferViewType) -> None:
        array = NdarrayType(declared.dtype, 1, boundary=declared.boundary)
        super().__init__({ARRAY: array, OFFSET: i32, SIZE: i32}, "BufferView")

    def values_of(self, value: object) -> dict[str, Any] | None:
        from mlirad.lang.buffer_view import BufferView

        if not isinstance(value, BufferView):
            return None
        return {ARRAY: value.arr, OFFSET: value.offset, SIZE: value.size}


def pack_type(declared: object) -> ArgPackType | None:
    """Return what an annotation declares if that is several arguments; None if it is one."""
    declared = declared_type(declared)
    if isinstance(declared, BufferViewType):
        return ViewPack(declared)
    if is_dataclass_type(declared):
        return dataclass_pack(declared)
    return declared if isinstance(declared, ArgPackType) else None


class ArgPack:
    """A named group of arguments. You can set its values between launches.

    Raises:
        TaichiRuntimeTypeError: a name is missing or unknown.
    """

    def __init__(self, kind: ArgPackType, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_values", {})
        for name in kind.members:
            if name not in values:
                raise TaichiRuntimeTypeError(f"a value for '{name}' is missing in {kind}")
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values")
        if name not in values:
            raise AttributeError(
                f"the argument pack has no member '{name}'{did_you_mean(name, values)}"
            )
        return values[name]

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self._kind.members:
            hint = did_you_mean(name, self._kind.members)
            raise TaichiRuntimeTypeError(f"the argument pack has no member '{name}'{hint}")
        self._values[name] = value

    __getitem__ = __getattr__
    __setitem__ = __setattr__

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._values.keys()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and values."""
        return self._values.items()

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary, with packs inside it as dictionaries too."""
        return {k: v.to_dict() if isinstance(v, ArgPack) else v for k, v in self.items()}


def unpack(pack: object, kind: ArgPackType, name: str) -> Iterator[Any]:
    """The values of a pack, those of packs in it too. Raises TaichiRuntimeTypeError for what is no
    pack of a type."""
    values = kind.values_of(pack)
    if values is None:
        raise TaichiRuntimeTypeError(f"Argument {name}: expected {kind}, got {type(pack).__name__}")
    for member, declared in kind.members.items():
        inner = pack_type(declared)
        if inner is not None:
            yield from unpack(values[member], inner, f"{name}.{member}")
        else:
            yield values[member]
