"""Numbers of evaluations in the region of a definition, and of elements of a definition."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from mlirad.analysis.linear import Linear, linear_form, number
from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir.structured import is_branch
from mlirad.ir.walk import defining_op, enclosing

Extent = Linear[ir.Value]
SHORT = 5  # values of an index at which conditions stay: such loops are tiles of vectors


@dataclass
class Count:
    """A product of a number and of extents that a call decides."""

    number: int = 1
    factors: Counter[Extent] = field(default_factory=Counter)

    def times(self, extent: Extent) -> None:
        """Multiply it."""
        if extent.terms:
            self.factors[extent] += 1
        else:
            self.number *= max(extent.constant, 0)

    def is_at_most(self, other: Count) -> bool:
        """Return whether it is known not to be greater, where no extent is 0."""
        return self.number <= other.number and self.factors <= other.factors


def elements_of(tensor: ir.Value) -> Count:
    """Return how many elements a tensor has."""
    count = Count()
    for extent in _extents(tensor):
        count.times(extent)
    return count


def points_of(inner: ir.Operation) -> Count | None:
    """Return how often an op in the region of a definition is evaluated, if branches are taken;
    None where that is not known."""
    count, op = Count(), inner
    while True:
        outer = enclosing(op)
        if te.is_reduce(outer):
            if op.block == te.body_of(outer):
                for low, high in te.bounds_of(outer):
                    count.times(linear_form(high).plus(linear_form(low), -1))
        elif te.defines_tensor(outer):
            for extent in _evaluations(outer, op):
                count.times(extent)
            return count
        elif not is_branch(outer):
            return None
        op = outer


def _evaluations(definition: ir.Operation, inner: ir.Operation) -> list[Extent]:
    """Return how often a region of a definition is evaluated, which holds an op."""
    if te.ScatterOp.holds(definition):
        return [linear_form(value) for value in te.box_of(definition)]
    extents = _extents(definition.results[0])
    if not te.ScanOp.holds(definition):
        return extents
    several = te.ScanOp(definition).states.value > 1
    length, *box_ = extents[: len(extents) - several]
    is_step = inner.block == definition.regions[1].blocks[0]
    return [*([length.plus(number(-1))] if is_step else []), *box_]


def _extents(tensor: ir.Value) -> list[Extent]:
    type_, op = ir.RankedTensorType(tensor.type), defining_op(tensor)
    sizes = iter([] if op is None else op.operands)
    return [
        linear_form(next(sizes, tensor))
        if type_.is_dynamic_dim(axis)
        else number(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    ]
