"""A product, or a reduction by a combiner of the user's, as a recurrence, which has adjoints.

All that is combined so far is kept. A product could go without, by division, but then a factor that
is 0 has no second derivative.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, constant_integer
from mlirad.sweeps.tensors.definition import Definition, copied_before, extents, type_with


def goes_in_steps(definition: Definition) -> bool:
    """Return whether what a point gets of an adjoint depends on all others."""
    return definition.kind in (te.ReduceKind.CUSTOM, te.ReduceKind.PROD)


def as_scan(definition: Definition) -> tuple[ir.Value, ir.Value]:
    """The states of a recurrence that combines one point after the other; the definition as the
    last of them."""
    (reduction,) = definition.reductions
    states = len(reduction.results)
    element = ir.RankedTensorType(definition.op.results[0].type).element_type
    body, combiner = (region.blocks[0] for region in reduction.regions)
    shape = extents(definition.op.results[0])
    count = _points(reduction)
    label = te.ComputeOp(definition.op).label.value

    def first(indices: list[ir.Value]) -> list[ir.Value]:
        return copied_before(definition, indices).values(te.initial_of(reduction))

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        number, *values = arguments
        indices, before = values[: len(shape)], values[len(shape) :]
        copier = copied_before(definition, indices)
        for argument, index in zip(body.arguments, _point(reduction, copier, number)):
            copier[argument] = index
        return copier.combine(combiner, before, copier.block(body))

    last = [b.index(states)] if states > 1 else []
    behind = constant_integer(count)
    length = b.add(count, b.index(1)) if behind is None else b.index(behind + 1)
    type_, sizes = type_with([length, *shape, *last], element)
    scan = te.scan(f"{label}.states", type_, sizes, states, first, step)
    result = block_operations(te.body_of(definition.op))[-1].operands[0]
    number = [value == result for value in reduction.results].index(True)
    type_, sizes = type_with(shape, element)

    def last_state(indices: list[ir.Value]) -> ir.Value:
        last_index = [b.index(number)] if states > 1 else []
        return te.read(scan, [count, *indices, *last_index])

    return scan, te.compute(label, type_, sizes, last_state)


def _points(reduction: ir.Operation) -> ir.Value:
    """Return how many points a reduction goes through, whose bounds are sizes."""
    total = 1
    values = []
    for low, high in te.bounds_of(reduction):
        first, behind = constant_integer(low), constant_integer(high)
        if first is not None and behind is not None:
            total *= behind - first
        else:
            values.append(b.sub(high, low))
    points = b.index(total)
    for value in values:
        points = b.mul(points, value)
    return points


def _point(reduction: ir.Operation, copier: Copier, number: ir.Value) -> list[ir.Value]:
    """The indices of a point, which is counted with the last axis fastest."""
    indices: list[ir.Value] = []
    for low, high in reversed(te.bounds_of(reduction)[1:]):
        first = copier.value(low)
        extent = b.sub(copier.value(high), first)
        ends = constant_integer(copier.value(high)), constant_integer(first)
        if ends[0] is not None and ends[1] is not None:
            extent = b.index(ends[0] - ends[1])
        quotient = b.floordivsi(number, extent)
        indices.insert(0, b.add(b.sub(number, b.mul(quotient, extent)), first))
        number = quotient
    return [b.add(number, copier.value(te.bounds_of(reduction)[0][0])), *indices]
