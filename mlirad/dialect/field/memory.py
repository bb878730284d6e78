"""Arrays, and what is done to their elements."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from mlirad.bindings import I64, ext, ir
from mlirad.dialect.effects import allocates, reads, writes
from mlirad.dialect.field.arrays import (
    Field,
    array_of,
    element_type,
    problem_of_array,
    problem_of_new_array,
)
from mlirad.dialect.field.threads import SharedOp
from mlirad.dialect.layout_rules import problem_of
from mlirad.dialect.snode import (
    element_and_shape,
    module_of,
    place_of,
    tree_operations,
    trees_around,
)
from mlirad.dialect.view import NamedOp, View

RECURSION = "field.recursion"  # on memory for the calls of a function: which one calls itself


class AtomicKind(StrEnum):
    """The way in which an atomic combines an element with a value."""

    ADD = "add"
    MUL = "mul"
    MIN = "min"
    MAX = "max"
    MINU = "minu"
    MAXU = "maxu"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"


_FLOAT_KINDS = {AtomicKind.ADD, AtomicKind.MUL, AtomicKind.MIN, AtomicKind.MAX, AtomicKind.EXCHANGE}
_ON_INTEGERS = {*AtomicKind} - _FLOAT_KINDS


class GetOp(View, dialect=Field, name="get", traits=[ext.Pure]):
    """The array of a field. `%x = field.get @x : !field.array<f32, [16]>`

    Aliasing: arrays of two fields never overlap; two of one field are the same array.
    """

    field: ir.FlatSymbolRefAttr
    array: ext.Result[Any]

    def problem(self) -> str | None:
        op = self.operation
        if not isinstance(op.attributes["field"], ir.FlatSymbolRefAttr):
            return f"{op.attributes['field']} is not the name of a field"
        name = ir.FlatSymbolRefAttr(op.attributes["field"]).value
        return problem_of_array(op.results[0].type) or _problem_of_place(op, name)


class AllocaOp(View, dialect=Field, name="alloca", effects=[allocates("array")]):
    """A zeroed array local to this launch. `%a = field.alloca : !field.array<f32, []>`

    With `is_set`, its elements are undefined at first: each is stored to before it is read.

    Races: within a parallel loop, each iteration has its own; before the loop, all share one.
    Bounds: extents are positive.
    Aliasing: it overlaps no other array.
    """

    array: ext.Result[Any]

    def problem(self) -> str | None:
        return problem_of_new_array(self.operation.results[0].type, "local")


class LoadOp(View, dialect=Field, name="load", effects=[reads("array")]):
    """The value of an element. `%v = field.load %x[%i] : f32`

    Races: with a store or an atomic of the same element in another iteration of a parallel loop.
    Bounds: an index outside the array reads other memory; `insert-bounds-checks` tests each index.
    Aliasing: fields and local arrays overlap nothing; two arguments may overlap.
    """

    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    value: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem_of_access(self.operation, self.operation.results[0].type)


class StoreOp(View, dialect=Field, name="store", effects=[writes("array")]):
    """Set an element. `field.store %v, %x[%i]`

    Races: with every access of the same element in another iteration of a parallel loop.
    Bounds: an index outside the array overwrites other memory; `insert-bounds-checks` tests each
      index.
    Aliasing: fields and local arrays overlap nothing; two arguments may overlap.
    """

    value: ext.Operand[Any]
    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def problem(self) -> str | None:
        return _problem_of_access(self.operation, self.operation.operands[0].type)


class AtomicOp(View, dialect=Field, name="atomic", effects=[reads("array"), writes("array")]):
    """Update an element with a commutative operation, or `exchange` it; returns the old value.

    `%old = field.atomic add %v, %x[%i]`

    Races: not with other atomics of the element, whose order is undefined; with loads and stores
      in other iterations of a parallel loop.
    Bounds: an index outside the array overwrites other memory; `insert-bounds-checks` tests each
      index.
    Aliasing: fields and local arrays overlap nothing; two arguments may overlap.
    """

    value: ext.Operand[Any]
    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    kind: ir.StringAttr
    old: ext.Result[Any]

    def problem(self) -> str | None:
        op, kind = self.operation, self.kind.value
        type_, old_type = op.operands[0].type, op.results[0].type
        if kind not in list(AtomicKind):
            return f"unknown atomic kind '{kind}', expected one of {', '.join(AtomicKind)}"
        problem = _problem_of_access(op, type_)
        if problem is None and old_type != type_:
            return f"an atomic on {type_} gives {old_type}"
        if problem is None and kind in _ON_INTEGERS and not isinstance(type_, ir.IntegerType):
            return f"atomic kind '{kind}' on {type_}, expected an integer"
        return problem


class DimOp(View, dialect=Field, name="dim", traits=[ext.Pure]):
    """The extent of an axis of an ndarray. `%n = field.dim %a, 0`"""

    array: ext.Operand[Any]
    axis: ir.IntegerAttr
    extent: ext.Result[ir.IndexType]

    def problem(self) -> str | None:
        type_, axis = self.operation.operands[0].type, self.axis.value
        problem = problem_of_array(type_)
        if problem is None and axis not in range(rank := len(array_of(type_)[1])):
            return f"axis {axis} of an array of rank {rank}"
        return problem


class AddressOp(View, dialect=Field, name="address", traits=[ext.Pure]):
    """The address of an element. `%a = field.address %x[%i]`

    Bounds: nothing is read or written, so any index is valid.
    """

    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    place: ext.Result[I64]

    def problem(self) -> str | None:
        array, *indices = self.operation.operands
        return problem_of_array(array.type) or _problem_of_indices(array, indices)


ARRAY_OPERAND = {
    LoadOp.OPERATION_NAME: 0,
    DimOp.OPERATION_NAME: 0,
    StoreOp.OPERATION_NAME: 1,
    AtomicOp.OPERATION_NAME: 1,
}
_LOAD, _STORE, _ATOMIC = LoadOp.OPERATION_NAME, StoreOp.OPERATION_NAME, AtomicOp.OPERATION_NAME
_MAKERS = tuple(kind.OPERATION_NAME for kind in (GetOp, AllocaOp, SharedOp))
_WRITES, _READS, _ACCESSES = (_STORE, _ATOMIC), (_LOAD, _ATOMIC), (_LOAD, _STORE, _ATOMIC)


def is_load(op: NamedOp) -> bool:
    """Return whether an op reads an element, and no more."""
    return op.name == _LOAD


def is_store(op: NamedOp) -> bool:
    """Return whether an op writes an element, whatever was there."""
    return op.name == _STORE


def is_atomic(op: NamedOp) -> bool:
    """Return whether an op updates an element."""
    return op.name == _ATOMIC


def atomic_kind(op: ir.Operation) -> AtomicKind:
    """Return how an atomic updates."""
    return AtomicKind(AtomicOp(op).kind.value)


def replaces(op: ir.Operation) -> bool:
    """Return whether an op leaves a value in an element that does not depend on what was there."""
    return is_store(op) or (is_atomic(op) and atomic_kind(op) is AtomicKind.EXCHANGE)


def is_write(op: NamedOp) -> bool:
    """Return whether an op changes an element."""
    return op.name in _WRITES


def is_read(op: NamedOp) -> bool:
    """Return whether an op gives what an element holds."""
    return op.name in _READS


def is_access(op: NamedOp) -> bool:
    """Return whether an op reads or changes an element."""
    return op.name in _ACCESSES


def makes_array(op: NamedOp) -> bool:
    """Return whether an op gives a field's array or makes one of a launch or a block."""
    return op.name in _MAKERS


def get(name: str, type_: ir.Type) -> ir.Value:
    """`field.get`."""
    attributes = {"field": ir.FlatSymbolRefAttr.get(name)}
    return ir.Operation.create(GetOp.OPERATION_NAME, [type_], [], attributes).result


def alloca(type_: ir.Type, *, is_set: bool = False) -> ir.Value:
    """`field.alloca`."""
    marks = {"is_set": ir.UnitAttr.get()} if is_set else {}
    return ir.Operation.create(AllocaOp.OPERATION_NAME, [type_], [], marks).result


def load(
    array: ir.Value,
    indices: Sequence[ir.Value] = (),
    marks: Mapping[str, ir.Attribute] | None = None,
) -> ir.Value:
    """`field.load`."""
    operands, type_ = [array, *indices], element_type(array.type)
    return ir.Operation.create(_LOAD, [type_], operands, marks).result


def store(
    value: ir.Value,
    array: ir.Value,
    indices: Sequence[ir.Value] = (),
    marks: Mapping[str, ir.Attribute] | None = None,
) -> None:
    """`field.store`."""
    ir.Operation.create(_STORE, [], [value, array, *indices], marks)


def atomic(
    value: ir.Value,
    array: ir.Value,
    indices: Sequence[ir.Value] = (),
    kind: str = AtomicKind.ADD,
    marks: Mapping[str, ir.Attribute] | None = None,
) -> ir.Value:
    """`field.atomic`, which gives what was there before."""
    attributes = {"kind": ir.StringAttr.get(kind), **(marks or {})}
    return ir.Operation.create(_ATOMIC, [value.type], [value, array, *indices], attributes).result


def dim(array: ir.Value, axis: int) -> ir.Value:
    """`field.dim`."""
    attributes = {"axis": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis)}
    return ir.Operation.create(
        DimOp.OPERATION_NAME, [ir.IndexType.get()], [array], attributes
    ).result


def address(array: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    """`field.address`."""
    type_ = ir.IntegerType.get_signless(64)
    return ir.Operation.create(AddressOp.OPERATION_NAME, [type_], [array, *indices]).result


def split_access(op: ir.Operation) -> tuple[ir.Value, list[ir.Value]]:
    """The array and the indices of a load, store or atomic."""
    operands = list(op.operands)
    at = ARRAY_OPERAND[op.name]
    return operands[at], operands[at + 1 :]


def _problem_of_access(op: ir.Operation, value_type: ir.Type) -> str | None:
    array, indices = split_access(op)
    problem = problem_of_array(array.type) or _problem_of_indices(array, indices)
    if problem is None and str(value_type) != (element := array_of(array.type)[0]):
        return f"value of type {value_type} for elements of type {element}"
    return problem


def _problem_of_indices(array: ir.Value, indices: Sequence[ir.Value]) -> str | None:
    rank = len(array_of(array.type)[1])
    if len(indices) != rank:
        return f"{len(indices)} indices for an array of rank {rank}"
    return None


def _problem_of_place(op: ir.Operation, name: str) -> str | None:
    """Return what is wrong if a field is not placed, or of another type than an op gives its
    array."""
    module = module_of(op)
    place = place_of(module, name)
    if place is None:
        if any(problem_of(tree) is not None for tree in tree_operations(module)):
            return None  # reported there
        return f"field @{name} is not placed in any layout tree of this module"
    if any(problem_of(tree) is not None for tree in (place, *trees_around(place))):
        return None
    placed, shape = element_and_shape(place)
    element, extents = array_of(op.results[0].type)
    if (element, extents) != (placed, shape):
        return (
            f"field @{name} is {list(shape)} of {placed}, "
            f"but is read as {list(extents)} of {element}"
        )
    return None
