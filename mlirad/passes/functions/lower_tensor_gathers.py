"""Make elements of `tensor.gather` those that a region gives, and loops of `tensor.scatter`.

Expects tensors. Coordinates lie within the tensor, as the operations demand; those of a scatter,
which are unique, write an element once.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Tensor
from mlirad.ir.requirements import refuse
from mlirad.ir.walk import before, operations, replace


def lower_tensor_gathers(root: ir.Operation) -> None:
    """Replace every `tensor.gather` by `tensor.generate`, and every `tensor.scatter` by loops."""
    for op in [op for op in operations(root) if op.name in (Tensor.GATHER, Tensor.SCATTER)]:
        with before(op):
            result = _gather(op) if op.name == Tensor.GATHER else _scatter(op)
        replace(op, [result])


def _gather(op: ir.Operation) -> ir.Value:
    """Emit the elements, each of the source at its coordinates."""
    source, coordinates = op.operands
    type_ = ir.RankedTensorType(op.results[0].type)
    places = _Places(source, coordinates, _axes(op, "gather_dims"), type_.rank)
    sizes = [places.extent(axis) for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
    elements = ir.Operation.create(Tensor.GENERATE, [type_], sizes, regions=1)
    block = b.block(elements, 0, [b.index_type()] * type_.rank)
    with ir.InsertionPoint(block):
        value = _extract(source, places.at(list(block.arguments)))
        b.effect(Tensor.YIELD, [value])
    return elements.results[0]


def _scatter(op: ir.Operation) -> ir.Value:
    """Emit loops over the elements, each of which is put to its coordinates."""
    source, target, coordinates = op.operands
    rank = ir.RankedTensorType(source.type).rank
    places = _Places(target, coordinates, _axes(op, "scatter_dims"), rank)

    def nest(indices: Sequence[ir.Value], tensor: ir.Value) -> ir.Value:
        if len(indices) == rank:
            operands = [_extract(source, indices), tensor, *places.at(indices)]
            return b.make(Tensor.INSERT, tensor.type, operands)
        extent = _extent(source, len(indices))
        loop = b.for_loop(b.index(0), extent, b.index(1), [tensor])
        with ir.InsertionPoint(loop.body):
            b.yield_([nest([*indices, loop.induction], loop.carried[0])])
        return loop.results[0]

    return nest([], target)


class _Places:
    """The places of the elements of slices in a tensor: coordinates name some `axes`."""

    def __init__(
        self, tensor: ir.Value, coordinates: ir.Value, axes: Sequence[int], rank: int
    ) -> None:
        self.tensor, self.coordinates, self.axes = tensor, coordinates, list(axes)
        self.batch = ir.RankedTensorType(coordinates.type).rank - 1
        every = range(ir.RankedTensorType(tensor.type).rank)
        has_all = rank == self.batch + len(every)
        # the axes of the tensor that slices have
        self.sliced = [axis for axis in every if has_all or axis not in self.axes]

    def extent(self, axis: int) -> ir.Value:
        """Emit the extent of an axis of all slices."""
        if axis < self.batch:
            return _extent(self.coordinates, axis)
        return _extent(self.tensor, self.sliced[axis - self.batch])

    def at(self, indices: Sequence[ir.Value]) -> list[ir.Value]:
        """Emit the place of an element of the slices."""
        within = dict(zip(self.sliced, indices[self.batch :]))
        for number, axis in enumerate(self.axes):
            at = [*indices[: self.batch], b.index(number)]
            coordinate = _extract(self.coordinates, at)
            is_index = isinstance(coordinate.type, ir.IndexType)
            within[axis] = coordinate if is_index else b.to_index(coordinate)
        return [within[axis] for axis in sorted(within)]


def _axes(op: ir.Operation, name: str) -> list[int]:
    axes = list(ir.DenseI64ArrayAttr(op.attributes[name]))
    if len(set(axes)) < len(axes):
        refuse(op, f"'{op.name}' names an axis twice")
    return axes


def _extract(tensor: ir.Value, indices: Sequence[ir.Value]) -> ir.Value:
    type_ = ir.RankedTensorType(tensor.type).element_type
    return b.make(Tensor.EXTRACT, type_, [tensor, *indices])


def _extent(tensor: ir.Value, axis: int) -> ir.Value:
    type_ = ir.RankedTensorType(tensor.type)
    if not type_.is_dynamic_dim(axis):
        return b.index(type_.get_dim_size(axis))
    return b.make(Tensor.DIM, b.index_type(), [tensor, b.index(axis)])
