"""Arrays, and what is done to their elements."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlirad.bindings import I64, ext, ir
from mlirad.dialect.field.arrays import Field, array_of, check_array, element_type
from mlirad.dialect.layout_rules import problem_of
from mlirad.dialect.snode import (
    element_and_shape,
    module_of,
    place_of,
    tree_operations,
    trees_around,
)
from mlirad.dialect.view import Named, View

ATOMIC_KINDS = ("add", "mul", "min", "max", "minu", "maxu", "and", "or", "xor", "exchange")
RECURSION = "field.recursion"  # on memory for the calls of a function: which one calls itself
_FLOAT_KINDS = ("add", "mul", "min", "max", "exchange")


class _Reads(ir.MemoryEffectsOpInterface):
    @staticmethod
    def get_effects(op: ir.OpView, effects: list[ir.MemoryEffect]) -> None:
        effects.append(ir.MemoryEffect.Read)


class GetOp(View, dialect=Field, name="get", traits=[ext.Pure]):
    """The array of a field. `%x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>`"""

    field: ir.FlatSymbolRefAttr
    array: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not isinstance(op.attributes["field"], ir.FlatSymbolRefAttr):
            op.location.emit_error(f"{op.attributes['field']} is not the name of a field")
            return False
        if not check_array(op, op.results[0].type):
            return False
        return _check_place(op, ir.FlatSymbolRefAttr(op.attributes["field"]).value)


class AllocaOp(View, dialect=Field, name="alloca"):
    """A zeroed array local to this launch. `%a = "field.alloca"() : () -> !field.array<f32, []>`

    With `is_set`, it holds anything at first: each element is stored to before it is read.
    """

    array: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not check_array(op, op.results[0].type):
            return False
        extents = array_of(op.results[0].type)[1]
        if min(extents, default=1) <= 0:
            op.location.emit_error(
                f"a local array of extents {list(extents)}, expected positive ones"
            )
            return False
        return True


class LoadOp(View, dialect=Field, name="load", traits=[_Reads]):
    """`%v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32`"""

    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    value: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_access(self.operation, self.operation.results[0].type)


class StoreOp(View, dialect=Field, name="store"):
    """`"field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()`"""

    value: ext.Operand[Any]
    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def verify_region_invariants(self) -> bool:
        return _check_access(self.operation, self.operation.operands[0].type)


class AtomicOp(View, dialect=Field, name="atomic"):
    """Update by a commutative kind, or `exchange`; gives what was there before.

    `%old = "field.atomic"(%v, %x, %i) {kind = "add"}
    : (f32, !field.array<f32, [16]>, index) -> f32`
    """

    value: ext.Operand[Any]
    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    kind: ir.StringAttr
    old: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        kind = self.kind.value
        if kind not in ATOMIC_KINDS:
            op.location.emit_error(
                f"unknown atomic kind '{kind}', expected one of {', '.join(ATOMIC_KINDS)}"
            )
            return False
        if not _check_access(op, op.operands[0].type):
            return False
        if op.results[0].type != op.operands[0].type:
            op.location.emit_error(f"an atomic on {op.operands[0].type} gives {op.results[0].type}")
            return False
        if kind not in _FLOAT_KINDS and not isinstance(op.operands[0].type, ir.IntegerType):
            op.location.emit_error(
                f"atomic kind '{kind}' on {op.operands[0].type}, expected an integer"
            )
            return False
        return True


class DimOp(View, dialect=Field, name="dim", traits=[ext.Pure]):
    """An extent of an ndarray. `%n = "field.dim"(%a) {axis = 0} : (!field.array<f32, [-1]>) ->
    index`"""

    array: ext.Operand[Any]
    axis: ir.IntegerAttr
    extent: ext.Result[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not check_array(op, op.operands[0].type):
            return False
        axis, rank = (
            ir.IntegerAttr(op.attributes["axis"]).value,
            len(array_of(op.operands[0].type)[1]),
        )
        if not 0 <= axis < rank:
            op.location.emit_error(f"axis {axis} of an array of rank {rank}")
            return False
        return True


class AddressOp(View, dialect=Field, name="address", traits=[ext.Pure]):
    """Where an element lies. `%a = "field.address"(%x, %i) : (!field.array<f32, [16]>, index) ->
    i64`"""

    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    place: ext.Result[I64]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        array, rank = op.operands[0], len(op.operands) - 1
        if not check_array(op, array.type):
            return False
        extents = array_of(array.type)[1]
        if rank != len(extents):
            op.location.emit_error(f"{rank} indices for an array of rank {len(extents)}")
        return rank == len(extents)


ARRAY_OPERAND = {
    LoadOp.OPERATION_NAME: 0,
    DimOp.OPERATION_NAME: 0,
    StoreOp.OPERATION_NAME: 1,
    AtomicOp.OPERATION_NAME: 1,
}
_LOAD, _STORE, _ATOMIC = LoadOp.OPERATION_NAME, StoreOp.OPERATION_NAME, AtomicOp.OPERATION_NAME
_WRITES, _READS, _ACCESSES = (_STORE, _ATOMIC), (_LOAD, _ATOMIC), (_LOAD, _STORE, _ATOMIC)


def is_load(op: Named) -> bool:
    """Return whether an op reads an element, and no more."""
    return op.name == _LOAD


def is_store(op: Named) -> bool:
    """Return whether an op writes an element, whatever was there."""
    return op.name == _STORE


def is_atomic(op: Named) -> bool:
    """Return whether an op updates an element."""
    return op.name == _ATOMIC


def replaces(op: ir.Operation) -> bool:
    """Return whether an op leaves a value in an element that does not depend on what was there."""
    return is_store(op) or (is_atomic(op) and AtomicOp(op).kind.value == "exchange")


def is_write(op: Named) -> bool:
    """Return whether an op changes an element."""
    return op.name in _WRITES


def is_read(op: Named) -> bool:
    """Return whether an op gives what an element holds."""
    return op.name in _READS


def is_access(op: Named) -> bool:
    """Return whether an op reads or changes an element."""
    return op.name in _ACCESSES


def makes_array(op: Named) -> bool:
    """Return whether an op gives a field's array or makes a local one."""
    return GetOp.holds(op) or AllocaOp.holds(op)


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
    kind: str = "add",
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


def _check_access(op: ir.Operation, value_type: ir.Type) -> bool:
    array, indices = split_access(op)
    if not check_array(op, array.type):
        return False
    element, extents = array_of(array.type)
    if len(indices) != len(extents):
        op.location.emit_error(f"{len(indices)} indices for an array of rank {len(extents)}")
        return False
    if str(value_type) != element:
        op.location.emit_error(f"value of type {value_type} for elements of type {element}")
        return False
    return True


def _check_place(op: ir.Operation, name: str) -> bool:
    """Return whether a field is placed, and of the type that an op gives its array."""
    module = module_of(op)
    place = place_of(module, name)
    if place is None:
        if any(problem_of(tree) is not None for tree in tree_operations(module)):
            return True  # reported there
        op.location.emit_error(f"field @{name} is not placed in any layout tree of this module")
        return False
    if any(problem_of(tree) is not None for tree in (place, *trees_around(place))):
        return True
    placed, shape = element_and_shape(place)
    element, extents = array_of(op.results[0].type)
    if (element, extents) != (placed, shape):
        op.location.emit_error(
            f"field @{name} is {list(shape)} of {placed}, "
            f"but is read as {list(extents)} of {element}"
        )
    return (element, extents) == (placed, shape)
