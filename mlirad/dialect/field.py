"""What a kernel does to memory.

Arrays are values of `!field.array<element, [extents]>`: a field of the layout tree (`field.get`),
an ndarray argument (extents -1 where only the launch knows them), or a cell local to one launch
(`field.alloca`). Two different fields never overlap; two ndarray arguments may. Indices are values
of type `index`, components last.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from mlirad.bindings import I1, I64, ext, ir
from mlirad.dialect.snode import (
    element_and_shape,
    place_of,
    problem_of,
    tree_operations,
    trees_around,
)
from mlirad.errors import TaichiTypeError

ATOMIC_KINDS = ("add", "mul", "min", "max", "minu", "maxu", "and", "or", "xor", "exchange")
_FLOAT_KINDS = ("add", "mul", "min", "max", "exchange")
_ARRAY = re.compile(r"!field\.array<([^\[]*), \[((?:-?\d+(?:, )?)*)\]>")
_HOLE = re.compile(r"\{[^}]*\}")
_DRAWN = ("f16", "f32", "f64", "i1", "i8", "i16", "i32", "i64")
_RANKED_FIRST = {"field.load": 0, "field.dim": 0, "field.store": 1, "field.atomic": 1}


class Field(ext.Dialect, name="field"):
    """Kernels over fields."""


class ArrayType(Field.Type, name="array"):
    """`!field.array<f32, [16, 3]>`"""

    element: ir.TypeAttr
    extents: ir.ArrayAttr


class _Reads(ir.MemoryEffectsOpInterface):
    @staticmethod
    def get_effects(op: Any, effects: Any) -> None:
        effects.append(ir.MemoryEffect.Read)


class GetOp(Field.Operation, name="get", traits=[ext.Pure]):
    """The array of a field. `%x = "field.get"() {field = @x} : () -> !field.array<f32, [16]>`"""

    field: ir.FlatSymbolRefAttr
    array: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not isinstance(op.attributes["field"], ir.FlatSymbolRefAttr):
            op.location.emit_error(f"{op.attributes['field']} is not the name of a field")
            return False
        if not _check_array(op, op.results[0].type):
            return False
        return _check_place(op, ir.FlatSymbolRefAttr(op.attributes["field"]).value)


class AllocaOp(Field.Operation, name="alloca"):
    """A zeroed array local to this launch. `%a = "field.alloca"() : () -> !field.array<f32, []>`"""

    array: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not _check_array(op, op.results[0].type):
            return False
        extents = array_of(op.results[0].type)[1]
        if min(extents, default=1) <= 0:
            op.location.emit_error(
                f"a local array of extents {list(extents)}, expected positive ones"
            )
            return False
        return True


class LoadOp(Field.Operation, name="load", traits=[_Reads]):
    """`%v = "field.load"(%x, %i) : (!field.array<f32, [16]>, index) -> f32`"""

    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]
    value: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_access(self.operation, self.operation.results[0].type)


class StoreOp(Field.Operation, name="store"):
    """`"field.store"(%v, %x, %i) : (f32, !field.array<f32, [16]>, index) -> ()`"""

    value: ext.Operand[Any]
    array: ext.Operand[Any]
    indices: Sequence[ext.Operand[ir.IndexType]]

    def verify_region_invariants(self) -> bool:
        return _check_access(self.operation, self.operation.operands[0].type)


class AtomicOp(Field.Operation, name="atomic"):
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
        kind = ir.StringAttr(op.attributes["kind"]).value
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


class DimOp(Field.Operation, name="dim", traits=[ext.Pure]):
    """An extent of an ndarray. `%n = "field.dim"(%a) {axis = 0} : (!field.array<f32, [-1]>) ->
    index`"""

    array: ext.Operand[Any]
    axis: ir.IntegerAttr
    extent: ext.Result[ir.IndexType]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if not _check_array(op, op.operands[0].type):
            return False
        axis, rank = (
            ir.IntegerAttr(op.attributes["axis"]).value,
            len(array_of(op.operands[0].type)[1]),
        )
        if not 0 <= axis < rank:
            op.location.emit_error(f"axis {axis} of an array of rank {rank}")
            return False
        return True


class ChunkOp(Field.Operation, name="chunk", traits=[ext.Pure]):
    """The number of the chunk of a parallel loop that runs. `%k = "field.chunk"() : () -> index`"""

    number: ext.Result[ir.IndexType]


class RandomOp(Field.Operation, name="random", traits=[ext.Pure]):
    """Uniform in [0, 1), or all bits of an integer: a function of its three counters, so a draw can
    be repeated.

    `%r = "field.random"(%launch, %iteration, %draw) : (i64, i64, i64) -> f32`
    """

    launch: ext.Operand[I64]
    iteration: ext.Operand[I64]
    draw: ext.Operand[I64]
    value: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        op = self.operation
        if str(op.results[0].type) not in _DRAWN:
            op.location.emit_error(
                f"a random {op.results[0].type}, expected one of {', '.join(_DRAWN)}"
            )
            return False
        return True


class WordType(Field.Type, name="word"):
    """A number of any type, on its way into a text. `!field.word`"""


class SpellOp(Field.Operation, name="spell", traits=[ext.Pure]):
    """A number as a word, so that values of several types can stand in one text.

    `%w = "field.spell"(%v) : (f32) -> !field.word`
    """

    value: ext.Operand[Any]
    word: ext.Result[Any]

    def verify_region_invariants(self) -> bool:
        return _check_numbers(self.operation)


class PrintOp(Field.Operation, name="print"):
    """Write the values into a text with one `{}` for each. `"field.print"(%v) {format = "{}\\0A"} :
    (f32) -> ()`"""

    values: Sequence[ext.Operand[Any]]
    format: ir.StringAttr

    def verify_region_invariants(self) -> bool:
        op = self.operation
        holes, count = (
            len(_HOLE.findall(ir.StringAttr(op.attributes["format"]).value)),
            len(op.operands),
        )
        if holes != count:
            op.location.emit_error(f"format with {holes} places for {count} values")
            return False
        return _check_numbers(op)


class AssertOp(Field.Operation, name="assert"):
    """Note the first failure of a launch; what follows still runs.

    `"field.assert"(%c, %i) {message = "index {} is out of bounds"} : (i1, index) -> ()`
    """

    condition: ext.Operand[I1]
    values: Sequence[ext.Operand[Any]]
    message: ir.StringAttr

    def verify_region_invariants(self) -> bool:
        return _check_numbers(self.operation)


@lru_cache(maxsize=4096)
def array_of(type_: ir.Type) -> tuple[str, tuple[int, ...]]:
    """Element type (as text) and extents of an array type. Raises TaichiTypeError for any other."""
    match = _ARRAY.fullmatch(str(type_))
    if match is None:
        raise TaichiTypeError(f"{type_} is not an array type")
    return match.group(1), tuple(int(item) for item in match.group(2).split(",") if item)


def is_array(type_: ir.Type) -> bool:
    """Whether a type is `!field.array`."""
    return str(type_).startswith("!field.array<")


def spelled(value: ir.Value) -> ir.Value:
    """The number behind a word; any other value as it is."""
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "field.spell":
        return value
    return value.owner.operation.operands[0]


def word_type() -> ir.Type:
    """The type of words."""
    return WordType.get()


def array_type(element: ir.Type, extents: Sequence[int]) -> ir.Type:
    """The array type of an element type and extents."""
    i64 = ir.IntegerType.get_signless(64)
    return ArrayType.get(
        ir.TypeAttr.get(element), ir.ArrayAttr.get([ir.IntegerAttr.get(i64, e) for e in extents])
    )


def split_access(op: ir.Operation) -> tuple[ir.Value, list[ir.Value]]:
    """The array and the indices of a load, store or atomic."""
    operands = list(op.operands)
    at = _RANKED_FIRST[op.name]
    return operands[at], operands[at + 1 :]


def _check_access(op: ir.Operation, value_type: ir.Type) -> bool:
    array, indices = split_access(op)
    if not _check_array(op, array.type):
        return False
    element, extents = array_of(array.type)
    if len(indices) != len(extents):
        op.location.emit_error(f"{len(indices)} indices for an array of rank {len(extents)}")
        return False
    if str(value_type) != element:
        op.location.emit_error(f"value of type {value_type} for elements of type {element}")
        return False
    return True


def _check_array(op: ir.Operation, type_: ir.Type) -> bool:
    if _ARRAY.fullmatch(str(type_)) is None:
        op.location.emit_error(f"{type_} is not an array")
        return False
    return True


def _check_numbers(op: ir.Operation) -> bool:
    for value in op.operands:
        is_number = isinstance(value.type, ir.FloatType | ir.IntegerType | ir.IndexType)
        if not is_number and (op.name == "field.spell" or str(value.type) != "!field.word"):
            op.location.emit_error(f"value of type {value.type}, expected a number")
            return False
    return True


def _check_place(op: ir.Operation, name: str) -> bool:
    """Whether a field is placed, and of the type that an op gives its array."""
    module = _module_of(op)
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


def _module_of(op: ir.Operation) -> ir.Operation:
    while op.parent is not None and op.name != "builtin.module":
        op = op.parent
    return op
