"""Structs that lie somewhere: in local variables, and in elements of several arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from mlirad.data_classes import data_class
from mlirad.errors import TaichiTypeError, did_you_mean
from mlirad.frontend.python.places.arrays import Array, ArrayRef
from mlirad.frontend.python.places.list_places import ListPlace, TuplePlace
from mlirad.frontend.python.places.place import Place, Subscript, VariablePlace, variables_in
from mlirad.frontend.python.places.variables import Combine, SharedVariable, Variable
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.struct import (
    Struct,
    members_of,
    methods_of,
    same_members,
    struct_of,
)


class StructPlace(Place):
    """The places of a struct's members."""

    def __init__(self, members: Mapping[str, Place], methods: Mapping[str, Any]) -> None:
        self.members, self.methods = members, methods

    def load(self) -> Struct:
        values = {name: place.load() for name, place in self.members.items()}
        return struct_of(values, self.methods)

    def store(self, value: Any) -> None:
        found = same_members(value, self.members)
        for name, place in self.members.items():
            member = found[name]
            place.store(Matrix(member) if isinstance(member, list | tuple) else member)

    def variables(self) -> list[Variable] | None:
        return variables_in(self.members.values())

    def update(self, operator: Combine, kind: str | None, value: Value) -> Any:
        raise TaichiTypeError("a struct is not updated as a whole: update its members")

    def at(self, key: Subscript | str) -> Place:
        if not isinstance(key, str):
            raise TaichiTypeError(
                "a struct is subscripted by the name of a member: a field of structs takes all its "
                "indices at once, s[i, j]"
            )
        if key not in self.members:
            raise TaichiTypeError(
                f"a struct has no member '{key}'{did_you_mean(key, self.members)}"
            )
        return self.members[key]

    def named(self, name: str) -> Any:
        return self.members[name] if name in self.members else self.methods.get(name)

    def components(self, name: str) -> Any:
        method = self.named(name)
        if method is None or isinstance(method, Place):
            return method
        by_reference = getattr(method, "takes_struct_by_reference", False)
        return method.__get__(self if by_reference else self.load())


def local(
    value: Any, kind: Callable[[Any], Variable] = Variable
) -> Variable | StructPlace | ListPlace | TuplePlace:
    """A mutable local of a value's structure, with that value."""
    if isinstance(value, tuple):
        return TuplePlace([place_of(local(part, kind)) for part in value])
    if isinstance(value, list):
        return ListPlace([_entry(part, kind) for part in value])
    if not isinstance(value, Struct):
        return kind(value)
    members: dict[str, Place] = {}
    for name, member in members_of(value).items():
        made = local(member, kind)
        members[name] = VariablePlace(made) if isinstance(made, Variable) else made
    return StructPlace(members, methods_of(value))


def _entry(value: Any, kind: Callable[[Any], Variable]) -> Any:
    """A mutable entry of a list; what is no value of a kernel stays as it is."""
    if not ex.is_scalar(value) and not isinstance(value, Matrix | Struct | list):
        return value
    return place_of(local(value, kind))


def place_of(made: Variable | Place) -> Place:
    """A local as a place."""
    return VariablePlace(made) if isinstance(made, Variable) else made


def may_be_shared(binding: object) -> TypeGuard[Variable | Place]:
    """Whether a name stands for a local, or a part of one, that iterations of a loop do not share
    yet."""
    if not isinstance(binding, Variable | Place):
        return False
    parts = place_of(binding).variables()
    return parts is not None and not any(isinstance(part, SharedVariable) for part in parts)


@data_class
class StructArray(Array):
    """Arrays of one shape whose elements at an index make up a struct."""

    members: dict[str, Array]
    methods: Mapping[str, Any]
    name: str

    def element(self, key: Subscript) -> StructPlace:
        parts = {name: array.element(key) for name, array in self.members.items()}
        return StructPlace(parts, self.methods)

    def fill(self, value: Any) -> None:
        """Store a number, or a struct, into every element."""
        found = same_members(value, self.members) if isinstance(value, Struct | Mapping) else None
        for name, array in self.members.items():
            array.fill(value if found is None else found[name])

    def leaves(self) -> Sequence[ArrayRef]:
        return [leaf for array in self.members.values() for leaf in array.leaves()]
