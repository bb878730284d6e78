"""Fields of structs: a field for each member, at one index a struct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from mlirad.checks import instance
from mlirad.dialect.turn import in_turn
from mlirad.errors import (
    TaichiCompilationError,
    TaichiRuntimeError,
    TaichiSyntaxError,
    did_you_mean,
)
from mlirad.frontend.python.places.struct_places import StructArray
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.annotations import MatrixType
from mlirad.frontend.python.values.struct import (
    METHODS,
    Struct,
    matching_members,
    refuse_names_twice,
    struct_of,
)
from mlirad.frontend.python.values.struct_type import StructType
from mlirad.lang.arguments.numbers import scalar_type
from mlirad.lang.field.declaration import create
from mlirad.lang.field.field_group import FieldGroup
from mlirad.lang.host.python_misuse import refuse_replacement
from mlirad.lang.keywords import refuse_unknown
from mlirad.lang.layout.axes import Axes, Shape, sizes_of
from mlirad.lang.layout.member_order import Layout
from mlirad.lang.layout.placed_field import PlacedField
from mlirad.lang.layout.root import Root
from mlirad.lang.layout.tree import Leaf, Offset, SNode
from mlirad.lang.variable_names import variable_name
from mlirad.runtime.program import program
from mlirad.types import DataType

_OF_LISTS = ("append", "length", "deactivate", "loop_range")  # which all members lie in together


class StructField(FieldGroup):
    """A field of structs: `f.a` is the field of a member, and `f[i].a` is a member of an element.

    A member hides an attribute of this class with the same name.
    """

    def __init__(
        self,
        field_dict: Mapping[str, Any],
        struct_methods: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> None:
        refuse_names_twice(field_dict, struct_methods or {})
        self.__dict__.update(
            _members=dict(field_dict),
            _name=name,
            _derived={},
            struct_methods=dict(struct_methods or {}),
        )
        _refuse_fields_twice(self)

    def __getattribute__(self, name: str) -> Any:
        state = object.__getattribute__(self, "__dict__")
        if name in state.get("_members", ()):
            return state["_members"][name]
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        if name in ("grad", "dual"):
            return _derivative(self, name)
        if name in _OF_LISTS:
            return getattr(_first(self), name)
        members = self.__dict__.get("_members", {})
        raise AttributeError(
            f"the struct field has no member '{name}'{did_you_mean(name, members)}"
        )

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("grad", "dual"):
            refuse_replacement(f"struct field '{self.__dict__['_name']}'", name)
        raise AttributeError(
            f"member '{name}' of a struct field cannot be replaced: assign to its elements"
        )

    def __leaves__(self) -> list[Leaf]:
        return [leaf for member in _fields(self).values() for leaf in _leaves_of(member)]

    def __kernel_ref__(self) -> StructArray:
        """The arrays of the members inside a kernel."""
        arrays = {name: field.__kernel_ref__() for name, field in _fields(self).items()}
        return StructArray(arrays, self.__dict__["struct_methods"], self.__dict__["_name"])

    @property
    def keys(self) -> list[str]:
        """Return the names of the members."""
        return list(_fields(self))

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of cells along each index axis."""
        return _first(self).shape

    @property
    def dtype(self) -> DataType:
        """Return the type of the first scalar."""
        return _first(self).dtype

    @property
    def snode(self) -> PlacedField:
        """Return the first member as a leaf of its layout tree."""
        return _first(self).snode

    def parent(self, n: int = 1) -> PlacedField | SNode | None:
        """Return the block `n` levels up."""
        return _first(self).parent(n)

    def get_member_field(self, key: str) -> Any:
        """Return the field of a member."""
        return _fields(self)[key]

    def __getitem__(self, key: object) -> Struct:
        return struct_of(_Element(_fields(self), key), self.__dict__["struct_methods"])

    def __setitem__(self, key: object, value: object) -> None:
        for name, member in matching_members(value, _fields(self)).items():
            _fields(self)[name][key] = member

    def fill(self, value: Any) -> None:
        """Set every element: to one number in all members, or to a struct."""
        members = matching_members(value, _fields(self)) if not ex.is_scalar(value) else None
        for name, field in _fields(self).items():
            field.fill(value if members is None else members[name])

    def copy_from(self, other: StructField) -> None:
        """Copy all elements from a field of the same shape and members. Raises TypeError if the
        source is not a field of structs."""
        if not isinstance(other, StructField):
            raise TypeError(f"copy_from: expected a struct field, got {type(other)}")
        for name, field in matching_members(_fields(other), _fields(self)).items():
            _fields(self)[name].copy_from(field)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError(
            "a struct field is not an array: to_numpy() returns an array for each member, and "
            "x.get_member_field(name) returns the field of a member"
        )

    def to_numpy(self, *, copy: bool | None = True) -> dict[str, Any]:
        """Return the members as NumPy arrays, by name: copies, or with `copy=False` views of the
        same memory."""
        return {name: field.to_numpy(copy=copy) for name, field in _fields(self).items()}

    def from_numpy(self, arrays: Mapping[str, Any]) -> None:
        """Set all members from a dictionary of NumPy arrays."""
        for name, array in matching_members(arrays, _fields(self)).items():
            _fields(self)[name].from_numpy(array)

    def to_torch(self, device: object = None, *, copy: bool | None = True) -> dict[str, Any]:
        """Return the members as torch tensors, by name: copies, or with `copy=False` views of the
        same memory."""
        return {name: field.to_torch(device, copy=copy) for name, field in _fields(self).items()}

    def from_torch(self, tensors: Mapping[str, Any]) -> None:
        """Set all members from a dictionary of torch tensors."""
        for name, tensor in matching_members(tensors, _fields(self)).items():
            _fields(self)[name].from_torch(tensor)

    def to_jax(self) -> dict[str, Any]:
        """Return copies of the members as JAX arrays, by name."""
        return {name: field.to_jax() for name, field in _fields(self).items()}

    def from_jax(self, arrays: Mapping[str, Any]) -> None:
        """Set all members from a dictionary of JAX arrays."""
        for name, array in matching_members(arrays, _fields(self)).items():
            _fields(self)[name].from_jax(array)

    def __len__(self) -> int:
        return len(_first(self))

    def __repr__(self) -> str:
        members = ", ".join(map(repr, _fields(self).values()))
        return f"<ti.StructField '{self.__dict__['_name']}' {members}>"


class _Element(MutableMapping[str, Any]):
    """The members of an element, read and written where they lie."""

    def __init__(self, fields: Mapping[str, Any], key: object) -> None:
        self.fields, self.key = fields, key

    def __getitem__(self, name: str) -> Any:
        return self.fields[name][self.key]

    def __setitem__(self, name: str, value: object) -> None:
        self.fields[name][self.key] = value

    def __delitem__(self, name: str) -> None:
        raise TypeError("a struct keeps its members")

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self.fields


def _fields(field: StructField) -> dict[str, Any]:
    members: dict[str, Any] = object.__getattribute__(field, "__dict__")["_members"]
    return members


def _leaves_of(member: Leaf | StructField) -> list[Leaf]:
    return [member] if isinstance(member, Leaf) else member.__leaves__()


def _first(field: StructField) -> Any:
    leaves = field.__leaves__()
    if not leaves:
        raise TaichiRuntimeError("cannot place a struct field without members")
    return leaves[0]


def _derivative(field: StructField, kind: str) -> StructField | None:
    """The field of adjoints or tangents of the members that are floats; None if there are
    none."""
    state = object.__getattribute__(field, "__dict__")
    if kind not in state["_derived"]:
        derivatives = {name: getattr(member, kind) for name, member in _fields(field).items()}
        members = {
            name: derivative for name, derivative in derivatives.items() if derivative is not None
        }
        name = f"{state['_name']}.{kind}"
        state["_derived"][kind] = (
            StructField(members, state["struct_methods"], name) if members else None
        )
    return state["_derived"][kind]


def _refuse_fields_twice(field: StructField) -> None:
    earlier: set[Leaf] = set()
    for leaf in field.__leaves__():
        if leaf in earlier:
            raise TaichiCompilationError(
                f"field '{leaf.symbol}' occurs twice among the members of a struct"
            )
        earlier.add(leaf)


def declare(
    members: Mapping[str, Any],
    methods: Mapping[str, Any],
    shape: Shape | None = None,
    name: str = "",
    offset: Offset = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = Layout.AOS,
    **unknown: object,
) -> StructField:
    """A field of structs, placed in a tree of its own where it has a shape; with `Layout.SOA`, in
    one for each member. `needs_grad` and `needs_dual` give derivatives to the members that are
    floats.

    Raises TaichiTypeError for keywords that it does not have.
    """
    refuse_unknown("a field of structs", unknown, declare)
    if shape is None and offset is not None:
        raise TaichiSyntaxError("shape cannot be None when offset is being set")
    instance(members, Mapping, "the members of a struct", "a dictionary of types")
    declared = StructType(**members, **{METHODS: methods})
    field = _members(declared, name or variable_name("field"), needs_grad, needs_dual)
    if (needs_grad or needs_dual) and not any(leaf.dtype.is_float for leaf in field.__leaves__()):
        raise TaichiRuntimeError("a struct without float members has no derivatives")
    if shape is not None:
        _place(field, sizes_of(shape), offset, layout)
    return field


def _members(declared: StructType, name: str, needs_grad: bool, needs_dual: bool) -> StructField:
    fields: dict[str, Any] = {}
    for member, kind in declared.members.items():
        member_name = f"{name}.{member}"
        if isinstance(kind, StructType):
            fields[member] = _members(kind, member_name, needs_grad, needs_dual)
        else:
            dtype, element = (
                (kind.dtype, kind.shape) if isinstance(kind, MatrixType) else (kind, ())
            )
            is_float = scalar_type(kind, program().config).is_float
            derivatives = (needs_grad, needs_dual) if is_float else (False, False)
            fields[member] = create(dtype, element, None, *derivatives, member_name, None, None)
    return StructField(fields, declared.methods, name)


@in_turn
def _place(field: StructField, sizes: tuple[int, ...], offset: Offset, layout: Layout) -> None:
    members = list(_fields(field).values()) if layout is Layout.SOA else [field]
    for member in members:
        root: Root = program().trees.root
        node = root.dense(Axes(tuple(range(len(sizes)))), sizes) if sizes else root
        node.place(member, offset=offset)
