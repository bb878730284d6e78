"""Memory for the arrays of a kernel, made of the values that a function takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import array_of, element_type
from mlirad.ir import build as b
from mlirad.ir.marks.roles import Role
from mlirad.ir.ops import Bufferization, Memref, Vector
from mlirad.ir.requirements import refuse


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a kernel: the number of an argument or result, or the name of a constant; and
    how long its open axes are, as a map of places (see `raise-memrefs-to-arrays`)."""

    position: int
    type: ir.Type
    role: Role
    source: int | str | None
    extents: ir.Attribute | None

    @property
    def holds_floats(self) -> bool:
        """Return whether it is an array of floats."""
        return self.is_array and b.is_float(element_type(self.type))

    @property
    def is_array(self) -> bool:
        """Return whether it is an array, not an integer."""
        return not isinstance(self.type, ir.IntegerType)


def memory_of(value: ir.Value, parameter: Parameter, function: ir.Operation) -> ir.Value:
    """Return the memory of an argument, which holds the value; of an integer, the integer."""
    type_ = value.type
    if not parameter.is_array:
        return b.index_cast(value, parameter.type) if type_ == b.index_type() else value
    if isinstance(type_, ir.MemRefType):
        _require_elements(type_, parameter, function)
        return value
    if isinstance(type_, ir.RankedTensorType):
        return _buffer_of(value)
    memory = b.alloca(_memref_type(parameter))
    keep(value, memory, function)
    return memory


def keep(value: ir.Value, memory: ir.Value, function: ir.Operation) -> None:
    """Let memory hold a value."""
    if isinstance(value.type, ir.MemRefType):
        b.effect(Memref.COPY, [value, memory])
    elif isinstance(value.type, ir.RankedTensorType):
        b.effect(Memref.COPY, [_buffer_of(value), memory])
    elif isinstance(value.type, ir.VectorType):
        rank = _require_rank(value.type, function)
        b.effect(Vector.STORE, [value, memory, *[b.index(0)] * rank])
    elif b.is_float(value.type):
        b.write(value, memory)
    else:
        refuse(function, f"a value of type '{value.type}', which derivatives do not pass")


def value_of(memory: ir.Value, type_: ir.Type, function: ir.Operation) -> ir.Value:
    """Return what memory holds, as a value of a type."""
    if isinstance(type_, ir.MemRefType):
        return memory if memory.type == type_ else b.make(Memref.CAST, type_, [memory])
    if isinstance(type_, ir.RankedTensorType):
        units = dict.fromkeys(("restrict", "writable"), ir.UnitAttr.get())
        return b.make(Bufferization.TO_TENSOR, type_, [memory], **units)
    if isinstance(type_, ir.VectorType):
        rank = _require_rank(type_, function)
        return b.make(Vector.LOAD, type_, [memory, *[b.index(0)] * rank])
    value = b.read(memory)
    return b.to_index(value) if isinstance(type_, ir.IndexType) else value


def allocate(parameter: Parameter, memories: Sequence[ir.Value]) -> ir.Value:
    """Return new memory for an array, on the stack if it has one element."""
    type_ = _memref_type(parameter)
    sizes = _sizes(parameter.extents, memories)
    return b.alloc(type_, sizes) if type_.rank else b.alloca(type_)


def allocate_like(memory: ir.Value) -> ir.Value:
    """Return new memory of the shape of another."""
    type_ = ir.MemRefType(memory.type)
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [_extent(memory, axis) for axis, e in enumerate(type_.shape) if e == dynamic]
    plain = ir.MemRefType.get(type_.shape, type_.element_type)
    return b.alloc(plain, sizes) if plain.rank else b.alloca(plain)


def clear(memory: ir.Value, *, in_parallel: bool = False) -> None:
    """Let all elements of memory be 0."""
    type_ = ir.MemRefType(memory.type)
    zero, rank = b.number(0.0, type_.element_type), type_.rank
    if not in_parallel or not rank:
        _for_each(memory, rank, zero, [])
        return
    sizes = [_extent(memory, axis) for axis in range(rank)]
    loop = b.parallel_loop([b.index(0)] * rank, sizes, [b.index(1)] * rank)
    with ir.InsertionPoint(loop.body):
        b.write(zero, memory, loop.indices)
        b.end_parallel()


def release(memory: ir.Value) -> None:
    """Give memory on the heap back."""
    if ir.MemRefType(memory.type).rank:
        b.dealloc(memory)


def _for_each(memory: ir.Value, rank: int, zero: ir.Value, indices: list[ir.Value]) -> None:
    if len(indices) == rank:
        b.write(zero, memory, indices)
        return
    loop = b.for_loop(b.index(0), _extent(memory, len(indices)), b.index(1))
    with ir.InsertionPoint(loop.body):
        _for_each(memory, rank, zero, [*indices, loop.induction])
        b.yield_()


def _extent(memory: ir.Value, axis: int) -> ir.Value:
    return b.make(Memref.DIM, b.index_type(), [memory, b.index(axis)])


def _sizes(extents: ir.Attribute | None, memories: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the extents that a type leaves open, by those of other parameters."""
    if extents is None:
        return []
    attribute, places = ir.ArrayAttr(extents)
    map_ = ir.AffineMapAttr(attribute).value
    operands = [_at(list(ir.ArrayAttr(place)), memories) for place in ir.ArrayAttr(places)]
    return [_apply(expression, operands) for expression in map_.results]


def _at(place: Sequence[ir.Attribute], memories: Sequence[ir.Value]) -> ir.Value:
    position, *axis = [ir.IntegerAttr(number).value for number in place]
    memory = memories[position]
    return _extent(memory, *axis) if axis else b.to_index(memory)


def _buffer_of(tensor: ir.Value) -> ir.Value:
    type_ = ir.RankedTensorType(tensor.type)
    buffer = ir.MemRefType.get(type_.shape, type_.element_type)
    return b.make(Bufferization.TO_BUFFER, buffer, [tensor], read_only=ir.UnitAttr.get())


def _memref_type(parameter: Parameter) -> ir.MemRefType:
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [dynamic if extent < 0 else extent for extent in array_of(parameter.type)[1]]
    return ir.MemRefType.get(shape, element_type(parameter.type))


def _require_elements(type_: ir.MemRefType, parameter: Parameter, function: ir.Operation) -> None:
    """Refuse memory whose elements the kernel has as several numbers each."""
    element = element_type(parameter.type)
    is_same = element == type_.element_type or isinstance(type_.element_type, ir.IndexType)
    if not is_same or len(array_of(parameter.type)[1]) != type_.rank:
        refuse(function, f"memory of type '{type_}', which has no derivative as a whole")


def _require_rank(type_: ir.VectorType, function: ir.Operation) -> int:
    if not type_.rank:
        refuse(function, f"a value of type '{type_}', which derivatives do not pass")
    return type_.rank


def _apply(expression: ir.AffineExpr, operands: Sequence[ir.Value]) -> ir.Value:
    """Return the value of an expression, by operations that `raise-memrefs-to-arrays` knows: it
    may be the size of an allocation."""
    if isinstance(expression, ir.AffineConstantExpr):
        return b.index(expression.value)
    if isinstance(expression, ir.AffineSymbolExpr):
        return operands[expression.position]
    assert isinstance(expression, ir.AffineBinaryExpr)
    sides = [_apply(side, operands) for side in (expression.lhs, expression.rhs)]
    return _OPERATIONS[type(expression)](*sides)


_OPERATIONS: dict[type[ir.AffineBinaryExpr], Callable[[ir.Value, ir.Value], ir.Value]] = {
    ir.AffineAddExpr: b.add,
    ir.AffineMulExpr: b.mul,
    ir.AffineModExpr: b.rem,
    ir.AffineFloorDivExpr: b.floordivsi,
    ir.AffineCeilDivExpr: b.ceildivsi,
}
