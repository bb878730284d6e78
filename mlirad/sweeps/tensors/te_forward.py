"""The tangent of what a definition gives, for those of what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, owner_operation
from mlirad.sweeps.tensors.combined import as_scan, goes_in_steps
from mlirad.sweeps.tensors.copies import At
from mlirad.sweeps.tensors.definition import Definition, definition_of, extents, type_with
from mlirad.sweeps.tensors.scans import tangent_of_scan
from mlirad.sweeps.tensors.shares import Share, share_of
from mlirad.sweeps.tensors.te_tangents import Tangents, product_of, sum_of


def tangent(output: ir.Value, tangents: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """The tangent of a tensor, at the insertion point.

    Raises TaichiDerivativeError where there is no derivative.
    """
    op = owner_operation(output)
    if te.ScatterOp.holds(op):
        return _tangent_of_scatter(op, tangents)
    if te.ScanOp.holds(op):
        return tangent_of_scan(op, tangents)
    definition = definition_of(op)
    if goes_in_steps(definition):
        states, last = as_scan(definition)
        return tangent(last, {states: tangent(states, tangents)})
    forward = _Forward(definition, share_of(definition), tangents)
    type_, sizes = type_with(extents(output), ir.RankedTensorType(output.type).element_type)
    label = f"{te.ComputeOp(op).label.value}.tangent"
    return te.compute(label, type_, sizes, forward.element)


class _Forward:
    """One definition."""

    def __init__(
        self, definition: Definition, share: Share, tangents: Mapping[ir.Value, ir.Value]
    ) -> None:
        self.definition, self.share, self._tangents = definition, share, tangents
        self.element_type = ir.RankedTensorType(definition.op.results[0].type).element_type

    def element(self, indices: list[ir.Value]) -> ir.Value:
        """The tangent of the element at some indices."""
        copier = Copier(dict(zip(self.definition.indices, indices)))
        return self._level(0, te.body_of(self.definition.op), copier)

    def _level(self, depth: int, block: ir.Block, copier: Copier) -> ir.Value:
        tangents = Tangents(copier, self._seed)
        if depth == len(self.definition.reductions):
            values, (slope,) = tangents.block(block)
            return self._point(values, slope, copier)
        reduction = self.definition.reductions[depth]
        ops = block_operations(block)
        tangents.ops(ops[: ops.index(reduction)])
        start = tangents.tangent_of(te.initial_of(reduction)[0])
        zero = b.number(0.0, self.element_type) if start is None else start
        body = te.body_of(reduction)
        bounds = [(copier.value(low), copier.value(high)) for low, high in te.bounds_of(reduction)]

        def fill(indices: list[ir.Value]) -> Sequence[ir.Value]:
            for argument, index in zip(body.arguments, indices):
                copier[argument] = index
            return [self._level(depth + 1, body, copier)]

        def combine(a: Sequence[ir.Value], c: Sequence[ir.Value]) -> Sequence[ir.Value]:
            return [sum_of(a[0], c[0])]

        return te.reduce(te.ReduceKind.SUM, bounds, [zero], fill, combine)[0]

    def _point(
        self, values: Sequence[ir.Value], slope: ir.Value | None, copier: Copier
    ) -> ir.Value:
        if slope is None:
            return b.number(0.0, self.element_type)
        factor = self.share.factor(At({}, copier), values)
        return slope if factor is None else product_of([slope, factor])

    def _seed(self, op: ir.Operation, copier: Copier) -> ir.Value | None:
        tensor, *indices = op.operands
        tangent = self._tangents.get(tensor)
        return None if tangent is None else te.read(tangent, copier.values(indices))


def _tangent_of_scatter(op: ir.Operation, tangents: Mapping[ir.Value, ir.Value]) -> ir.Value:
    body = te.body_of(op)
    type_, sizes = type_with(
        extents(op.results[0]), ir.RankedTensorType(op.results[0].type).element_type
    )
    box = te.box_of(op)

    def seed(read: ir.Operation, copier: Copier) -> ir.Value | None:
        tensor, *indices = read.operands
        tangent = tangents.get(tensor)
        return None if tangent is None else te.read(tangent, copier.values(indices))

    def fill(indices: list[ir.Value]) -> list[ir.Value]:
        copied_tangents = Tangents(Copier(dict(zip(body.arguments, indices))), seed)
        (holds, value, *target), (_, slope, *_) = copied_tangents.block(body)
        zero = b.number(0.0, value.type)
        return [holds, zero if slope is None else slope, *target]

    label = f"{te.ScatterOp(op).label.value}.tangent"
    return te.scatter(label, type_, sizes, box, fill)
