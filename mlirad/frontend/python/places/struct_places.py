"""Structs in memory: in local variables, and in elements of several arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.errors import TaichiTypeError, did_you_mean
from mlirad.frontend.python.places.arrays import Array, ArrayRef
from mlirad.frontend.python.places.list_places import ListPlace, TuplePlace
from mlirad.frontend.python.places.place import Place, Subscript, VariablePlace, variables_in
from mlirad.frontend.python.places.variables import Combine, SharedVariable, Update, Variable
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix import Matrix, Value
from mlirad.frontend.python.values.struct import (
    Struct,
    matching_members,
    members_of,
    methods_of,
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
        members = matching_members(value, self.members)
        for name, place in self.members.items():
            member = members[name]
            place.store(Matrix(member) if isinstance(member, list | tuple) else member)

    def fill(self, value: Value) -> None:
        """Store a number into every entry of every member."""
        for place in self.members.values():
            if isinstance(place, StructPlace):
                place.fill(value)
            else:
                place.store(value)

    def variables(self) -> list[Variable] | None:
        return variables_in(self.members.values())

    def update(self, operator: Combine, kind: Update | None, value: Value) -> Any:
        raise TaichiTypeError("a struct cannot be updated as a whole: update its members")

    def at(self, key: Subscript | str) -> Place:
        if not isinstance(key, str):
            raise TaichiTypeError(
                "a struct is indexed by the name of a member: index a field of structs with all "
                "indices at once, s[i, j]"
            )
        if key not in self.members:
            raise TaichiTypeError(
                f"a struct has no member '{key}'{did_you_mean(key, self.members)}"
            )
        return self.members[key]

    def member(self, name: str) -> Any:
        return self.members[name] if name in self.members else self.methods.get(name)

    def attribute(self, name: str) -> Any:
        method = self.member(name)
        if method is None and name == "fill":
            return self.fill
        if method is None or isinstance(method, Place):
            return method
        by_reference = getattr(method, "takes_struct_by_reference", False)
        return method.__get__(self if by_reference else self.load())


def make_local(
    value: Any, kind: Callable[[Any], Variable] = Variable
) -> Variable | StructPlace | ListPlace | TuplePlace:
    """A mutable local of a value's structure, with that value."""
    if isinstance(value, tuple):
        return TuplePlace([as_place(make_local(entry, kind)) for entry in value])
    if isinstance(value, list):
        return ListPlace([_entry(entry, kind) for entry in value])
    if not isinstance(value, Struct):
        return kind(value)
    members: dict[str, Place] = {}
    for name, member in members_of(value).items():
        place = make_local(member, kind)
        members[name] = VariablePlace(place) if isinstance(place, Variable) else place
    return StructPlace(members, methods_of(value))


def _entry(value: Any, kind: Callable[[Any], Variable]) -> Any:
    """A mutable entry of a list; an object that is no value of a kernel stays as it is."""
    if not ex.is_scalar(value) and not isinstance(value, Matrix | Struct | list):
        return value
    return as_place(make_local(value, kind))


def as_place(binding: Variable | Place) -> Place:
    """A local variable as a place."""
    return VariablePlace(binding) if isinstance(binding, Variable) else binding


def is_unshared_local(binding: object) -> TypeGuard[Variable | Place]:
    """Return whether a binding is a local, or an entry of one, that iterations of a loop do not
    share yet."""
    if not isinstance(binding, Variable | Place):
        return False
    variables = as_place(binding).variables()
    return variables is not None and not any(
        isinstance(variable, SharedVariable) for variable in variables
    )


class StructArray(Array, msgspec.Struct, metaclass=AbstractStruct):
    """Arrays of one shape whose elements at an index make up a struct."""

    members: dict[str, Array]
    methods: Mapping[str, Any]
    name: str

    def element(self, key: Subscript) -> StructPlace:
        places = {name: array.element(key) for name, array in self.members.items()}
        return StructPlace(places, self.methods)

    def fill(self, value: Any) -> None:
        """Store a number, or a struct, into every element."""
        values = (
            matching_members(value, self.members) if isinstance(value, Struct | Mapping) else None
        )
        for name, array in self.members.items():
            array.fill(value if values is None else values[name])

    def leaves(self) -> Sequence[ArrayRef]:
        return [leaf for array in self.members.values() for leaf in array.leaves()]
