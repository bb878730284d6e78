"""Tensors that are parts of others, have others as parts, or have something around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Tensor
from mlirad.ir.walk import block_operations, constant_integer
from mlirad.passes.functions.raise_linalg_to_te.affine import join, quotient, remainder
from mlirad.passes.functions.raise_linalg_to_te.definitions import (
    Definitions,
    Region,
    Unraisable,
    tensor_type,
)

MOST_ELEMENTS = 16  # of `tensor.from_elements`


def _slice(op: ir.Operation, definitions: Definitions) -> None:
    """The elements of a box."""
    offsets, sizes, strides = _box(op)
    axes = _axes(sizes, tensor_type(op.results[0].type).shape)
    source = definitions.tensor(op.operands[0])

    def fill(indices: list[ir.Value]) -> ir.Value:
        at = dict(zip(axes, indices))
        return te.read(
            source,
            [
                _moved(at[axis], stride, offset) if axis in at else b.index(offset)
                for axis, (offset, stride) in enumerate(zip(offsets, strides))
            ],
        )

    definitions.define(op.results[0], fill, op.name)


def _insert_slice(op: ir.Operation, definitions: Definitions) -> None:
    """A tensor with another in the place of a box."""
    offsets, sizes, strides = _box(op)
    axes = _axes(sizes, tensor_type(op.operands[0].type).shape)
    inserted, target = (definitions.tensor(value) for value in list(op.operands)[:2])
    extents, element = (
        tensor_type(op.results[0].type).shape,
        tensor_type(inserted.type).element_type,
    )

    def fill(indices: list[ir.Value]) -> ir.Value:
        moved = [
            b.sub(index, b.index(offset)) if offset else index
            for index, offset in zip(indices, offsets)
        ]
        inside = [
            condition
            for index, size, stride, offset, extent in zip(moved, sizes, strides, offsets, extents)
            for condition in _inside(index, size, stride, (offset, extent))
        ]
        at = [quotient(moved[axis], strides[axis]) for axis in axes]
        return _either(
            element, inside, lambda: te.read(inserted, at), lambda: te.read(target, indices)
        )

    definitions.define(op.results[0], fill, op.name)


def _insert(op: ir.Operation, definitions: Definitions) -> None:
    """A tensor with a number in the place of an element."""
    value, tensor, *at = op.operands
    numbers, target = [constant_integer(index) for index in at], definitions.tensor(tensor)

    def fill(indices: list[ir.Value]) -> ir.Value:
        equal = [b.compare(b.EQ, i, b.index(_certain(n))) for i, n in zip(indices, numbers)]
        return _either(
            value.type, equal, lambda: definitions.number(value), lambda: te.read(target, indices)
        )

    definitions.define(op.results[0], fill, op.name)


def _from_elements(op: ir.Operation, definitions: Definitions) -> None:
    """Numbers row by row; only a few, as each is a choice."""
    values, type_ = list(op.operands), tensor_type(op.results[0].type)
    if len(values) > MOST_ELEMENTS:
        raise Unraisable

    def element(position: int, number: ir.Value) -> ir.Value:
        if position == len(values) - 1:
            return definitions.number(values[position])
        return _either(
            type_.element_type,
            [b.compare(b.EQ, number, b.index(position))],
            lambda: definitions.number(values[position]),
            lambda: element(position + 1, number),
        )

    definitions.define(op.results[0], lambda at: element(0, join(at, type_.shape)), op.name)


def _pad(op: ir.Operation, definitions: Definitions) -> None:
    """A tensor with something around it."""
    low, high = (ir.DenseI64ArrayAttr(op.attributes[f"static_{end}"]) for end in ("low", "high"))
    if min([*low, *high], default=0) < 0:
        raise Unraisable
    source, extents = definitions.tensor(op.operands[0]), tensor_type(op.operands[0].type).shape
    block = op.regions[0].blocks[0]
    number = block_operations(block)[-1].operands[0]

    def fill(indices: list[ir.Value]) -> ir.Value:
        moved = [b.sub(i, b.index(n)) if n else i for i, n in zip(indices, low)]
        inside = [
            condition
            for index, extent, before, behind in zip(moved, extents, low, high)
            for condition in _inside(index, extent, 1, (before, extent + before + behind))
        ]
        around = Region(definitions, dict(zip(block.arguments, indices)))
        return _either(
            number.type,
            inside,
            lambda: te.read(source, moved),
            lambda: around.result(block, number),
        )

    definitions.define(op.results[0], fill, op.name)


def _concatenate(op: ir.Operation, definitions: Definitions) -> None:
    """Tensors behind each other along an axis."""
    axis = ir.IntegerAttr(op.attributes["dim"]).value
    pieces = [definitions.tensor(value) for value in op.operands]
    extents = [tensor_type(value.type).shape[axis] for value in op.operands]
    type_ = tensor_type(op.results[0].type).element_type

    def element(number: int, first: int, indices: Sequence[ir.Value]) -> ir.Value:
        at = list(indices)
        at[axis] = b.sub(indices[axis], b.index(first)) if first else indices[axis]
        if number == len(pieces) - 1:
            return te.read(pieces[number], at)
        end = first + extents[number]
        is_here = b.compare(b.SLT, indices[axis], b.index(end))
        return _either(
            type_,
            [is_here],
            lambda: te.read(pieces[number], at),
            lambda: element(number + 1, end, indices),
        )

    definitions.define(op.results[0], lambda indices: element(0, 0, indices), op.name)


def _either(
    type_: ir.Type,
    conditions: Sequence[ir.Value],
    then: Callable[[], ir.Value],
    otherwise: Callable[[], ir.Value],
) -> ir.Value:
    """Emit a choice: the first if all conditions hold."""
    if not conditions:
        return then()
    branch = b.if_else(b.all_of(conditions), [type_])
    for block, value in ((branch.then, then), (branch.otherwise, otherwise)):
        with ir.InsertionPoint(block):
            b.yield_([value()])
    return branch.results[0]


def _inside(index: ir.Value, size: int, stride: int, around: tuple[int, int]) -> list[ir.Value]:
    """Emit what has to hold for an index, counted from the offset of a box, to be in it."""
    offset, extent = around
    conditions = []
    if offset:
        conditions.append(b.compare(b.SGE, index, b.index(0)))
    if offset + size * stride < extent:
        conditions.append(b.compare(b.SLT, index, b.index(size * stride)))
    if stride > 1:
        conditions.append(b.compare(b.EQ, remainder(index, stride), b.index(0)))
    return conditions


def _moved(index: ir.Value, stride: int, offset: int) -> ir.Value:
    scaled = index if stride == 1 else b.mul(index, b.index(stride))
    return b.add(scaled, b.index(offset)) if offset else scaled


def _box(op: ir.Operation) -> tuple[list[int], list[int], list[int]]:
    """Return the offsets, sizes and strides of an operation."""
    numbers = [
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    ]
    if min((number for listed in numbers for number in listed), default=0) < 0:
        raise Unraisable  # one that a value says
    offsets, sizes, strides = numbers
    return offsets, sizes, strides


def _axes(sizes: Sequence[int], extents: Sequence[int]) -> list[int]:
    """Return the axes of a box that a tensor of it has: those of one element may be left out."""
    axes, remaining = list[int](), list(extents)
    for axis, size in enumerate(sizes):
        if remaining and size == remaining[0] and len(sizes) - axis >= len(remaining):
            axes.append(axis)
            remaining.pop(0)
        elif size != 1:
            raise Unraisable
    if remaining:
        raise Unraisable
    return axes


def _certain(number: int | None) -> int:
    if number is None:
        raise Unraisable
    return number


SLICES = {
    Tensor.CONCAT: _concatenate,
    Tensor.EXTRACT_SLICE: _slice,
    Tensor.FROM_ELEMENTS: _from_elements,
    Tensor.INSERT: _insert,
    Tensor.INSERT_SLICE: _insert_slice,
    Tensor.PAD: _pad,
}
