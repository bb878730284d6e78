"""A definition taken apart: the box of its points, what it gives at one, how they are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlirad.analysis.linear import number, unknown
from mlirad.analysis.tensors.integer_systems import within
from mlirad.analysis.tensors.te_accesses import Box, Form, Forms, least_of, most_of
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import MLIRError
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Tensor
from mlirad.ir.reports.location import source_location
from mlirad.ir.structured import is_branch
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, constant_integer, defining_op, operations


@dataclass
class Definition:
    """A `te.compute`: an expression at each point, or one reduction of such, or a nest of them."""

    op: ir.Operation
    reductions: list[ir.Operation]  # the outermost first
    body: ir.Block  # what gives the values at a point
    indices: Sequence[ir.Value]  # of the tensor

    @property
    def kind(self) -> te.ReduceKind | None:
        """Return how points are combined; None where there is one for each element."""
        return te.reduce_kind(self.reductions[0]) if self.reductions else None

    @property
    def reduction_indices(self) -> list[ir.Value]:
        """The indices of its reductions."""
        return [index for op in self.reductions for index in te.body_of(op).arguments]


def definition_of(op: ir.Operation) -> Definition:
    """A definition taken apart."""
    block = te.body_of(op)
    indices = list(block.arguments)
    reductions: list[ir.Operation] = []
    while True:
        *ops, end = block_operations(block)
        last = defining_op(end.operands[0])
        if last is None or not te.is_reduce(last) or last.block != block:
            _refuse_reductions(ops)
            return Definition(op, reductions, block, indices)
        _refuse_reductions([op for op in ops if op != last])
        reductions.append(last)
        block = te.body_of(last)


def _refuse_reductions(ops: Sequence[ir.Operation]) -> None:
    for op in ops:
        for inner in (op, *(operations(op) if is_branch(op) else ())):
            if te.is_reduce(inner):
                raise MLIRError(
                    "a reduction inside an expression has no derivative: run differentiate-te "
                    "before merge-te-computes",
                    source_location(inner.location),
                )


def box_of(definition: Definition, forms: Forms) -> Box | None:
    """The points of a definition; None where what bounds them is no sum of indices and sizes."""
    box = Box([*definition.indices, *definition.reduction_indices])
    extents = _extents(definition.op, forms)
    if extents is None:
        return None
    for index, extent in zip(definition.indices, extents):
        box.constraints += within(index, number(0), extent)
    for op in definition.reductions:
        for index, (low, high) in zip(te.body_of(op).arguments, te.bounds_of(op)):
            constraints = _bounds(index, low, high, forms, box)
            if constraints is None:
                return None
            box.constraints += constraints
    return box


def _extents(op: ir.Operation, forms: Forms) -> list[Form] | None:
    """The extents of the tensor that an op defines, as sums of sizes."""
    type_, sizes = ir.RankedTensorType(op.results[0].type), iter(op.operands)
    sums: list[Form] = []
    for axis in range(type_.rank):
        if not type_.is_dynamic_dim(axis):
            sums.append(number(type_.get_dim_size(axis)))
            continue
        pieces = forms.pieces_of(next(sizes))
        if pieces is None or len(pieces) != 1 or pieces[0].quotients:
            return None
        sums.append(pieces[0].form)
    return sums


def _bounds(
    index: ir.Value, low: ir.Value, high: ir.Value, forms: Forms, box: Box
) -> list[Form] | None:
    chosen = defining_op(high)
    if chosen is not None and chosen.name == Arith.SELECT and chosen.operands[2] == low:
        box.conditions.append(chosen.operands[0])  # without which there is no point
        high = chosen.operands[1]
    least, most = least_of(low, forms), most_of(high, forms)
    if least is None or most is None:
        return None
    name: Form = unknown(index)
    return [name.times(divisor).plus(form, -1) for form, divisor in least] + [
        form.plus(name, -divisor).plus(number(-divisor)) for form, divisor in most
    ]


def copied_before(definition: Definition, indices: Sequence[ir.Value]) -> Copier:
    """Return the code before a definition's only reduction, copied to the insertion point for some
    indices."""
    (reduction,) = definition.reductions
    copier = Copier(dict(zip(definition.indices, indices)))
    ops = block_operations(te.body_of(definition.op))
    for op in ops[: ops.index(reduction)]:
        copier.op(op)
    return copier


def is_of_sizes(value: ir.Value) -> bool:
    """Return whether an integer is made of numbers that are known and of sizes alone."""
    op = defining_op(value)
    if op is None or len(op.regions) or te.is_read(op):
        return False
    return all(map(is_of_sizes, op.operands))


def extents(value: ir.Value) -> list[ir.Value]:
    """The extents of a tensor, at the insertion point."""
    op = defining_op(value)
    if op is not None:
        return te.extents_of(op, b.index)
    type_ = ir.RankedTensorType(value.type)
    return [
        b.make(Tensor.DIM, b.index_type(), [value, b.index(axis)])
        if type_.is_dynamic_dim(axis)
        else b.index(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    ]


def type_with(extents_: Sequence[ir.Value], element: ir.Type) -> tuple[ir.Type, list[ir.Value]]:
    """The type of a tensor of some extents, and those that it does not say."""
    constants = [constant_integer(extent) for extent in extents_]
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [dynamic if extent is None else extent for extent in constants]
    sizes = [extent for extent, constant in zip(extents_, constants) if constant is None]
    return ir.RankedTensorType.get(shape, element), sizes
