"""Adjoints and tangents of recurrences.

With states s and `s[t + 1] = f(t, s[t])`, adjoints are the recurrence `a[t] = head[t] + a[t + 1] ·
df/ds(t, s[t])`, backwards. What else f reads at step t gets its adjoint from a definition `f(t,
s[t])` over all t, of which `a[t + 1]` is the adjoint. All states are kept: they are the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.te_regions import Copier
from mlirad.ir.walk import block_operations, constant_integer, owner_operation
from mlirad.sweeps.tensors.definition import extents, type_with
from mlirad.sweeps.tensors.te_tangents import Tangents, sum_of

# a definition, and the adjoint of what it gives
Consumer = tuple[ir.Value, ir.Value]


class Scan:
    """A `te.scan` taken apart."""

    def __init__(self, op: ir.Operation) -> None:
        self.op, self.states = op, te.ScanOp(op).states.value
        self.first, self.step = (region.blocks[0] for region in op.regions)
        self.label = te.ScanOp(op).label.value
        self.element = ir.RankedTensorType(op.results[0].type).element_type

    def shape(self) -> tuple[ir.Value, list[ir.Value]]:
        """Return how many states there are, one after the other; the box, at the insertion
        point."""
        length, *box = extents(self.op.results[0])
        return length, box[: len(box) - (self.states > 1)]

    def read(self, tensor: ir.Value, indices: Sequence[ir.Value]) -> list[ir.Value]:
        """The states, or their adjoints, at a step and a point of the box."""
        if self.states == 1:
            return [te.read(tensor, indices)]
        return [te.read(tensor, [*indices, b.index(k)]) for k in range(self.states)]

    def behind(self, copier: Copier, values: Sequence[ir.Value]) -> None:
        """Let the arguments of a step stand for some values."""
        for argument, value in zip(self.step.arguments, values):
            copier[argument] = value


def consumers(output: ir.Value, head: ir.Value) -> list[Consumer]:
    """Definitions that give what steps, and the first states, are made of, with their adjoints."""
    scan = Scan(owner_operation(output))
    rank = ir.RankedTensorType(output.type).rank
    prefix = ir.RankedTensorType(head.type).rank - rank
    backwards = _backwards(scan, head, prefix)
    pairs = []
    for number in range(scan.states):
        pairs.append(_of_steps(scan, backwards, prefix, number, extents(head)[:prefix]))
        pairs.append(_of_first(scan, backwards, prefix, number, extents(head)[:prefix]))
    return pairs


def _backwards(scan: Scan, head: ir.Value, prefix: int) -> ir.Value:
    """Adjoints of states, those behind the last step first: axes are steps, the prefix of the head,
    the box, states."""
    length, box = scan.shape()
    front = extents(head)[:prefix]
    last = [b.index(scan.states)] if scan.states > 1 else []
    type_, sizes = type_with([length, *front, *box, *last], scan.element)
    end = b.sub(length, b.index(1))

    def heads(step: ir.Value, indices: Sequence[ir.Value]) -> list[ir.Value]:
        return scan.read(head, [*indices[:prefix], step, *indices[prefix:]])

    def first(indices: list[ir.Value]) -> list[ir.Value]:
        return heads(end, indices)

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        number, *values = arguments
        indices, adjoints = (values[: prefix + len(box)], values[prefix + len(box) :])
        at = b.sub(b.sub(end, number), b.index(1))
        point = indices[prefix:]
        states = scan.read(scan.op.results[0], [at, *point])
        sums = heads(at, indices)
        for position in range(scan.states):
            for share in _shares(scan, [at, *point, *states], position, adjoints):
                sums[position] = sum_of(sums[position], share)
        return sums

    return te.scan(f"{scan.label}.adjoint", type_, sizes, scan.states, first, step)


def _shares(
    scan: Scan, values: Sequence[ir.Value], position: int, adjoints: Sequence[ir.Value]
) -> list[ir.Value]:
    """Return the contributions of the adjoints of the next states to that of one of the states."""
    copier = Copier({})
    scan.behind(copier, values)
    tangents = Tangents(copier, lambda op, copier: None)
    state = scan.step.arguments[len(scan.step.arguments) - scan.states + position]
    tangents.set(state, b.number(1.0, scan.element))
    slopes = tangents.block(scan.step)[1]
    results = block_operations(scan.step)[-1].operands
    return [
        tangents.weigh(value, slope, adjoint)
        for value, slope, adjoint in zip(results, slopes, adjoints)
        if slope is not None
    ]


def _of_steps(
    scan: Scan, backwards: ir.Value, prefix: int, number: int, front: Sequence[ir.Value]
) -> Consumer:
    """One state behind each step, and its adjoint."""
    length, box = scan.shape()
    constant = constant_integer(length)
    steps = b.sub(length, b.index(1)) if constant is None else b.index(constant - 1)
    type_, sizes = type_with([steps, *box], scan.element)

    def fill(indices: list[ir.Value]) -> ir.Value:
        copier = Copier({})
        scan.behind(copier, [*indices, *scan.read(scan.op.results[0], indices)])
        return copier.block(scan.step)[number]

    def adjoint(indices: list[ir.Value]) -> ir.Value:
        step, box_indices = indices[prefix], [*indices[:prefix], *indices[prefix + 1 :]]
        at = b.sub(b.sub(steps, b.index(1)), step)
        return scan.read(backwards, [at, *box_indices])[number]

    definition = te.compute(f"{scan.label}.step", type_, sizes, fill)
    head_type, head_sizes = type_with([*front, steps, *box], scan.element)
    return definition, te.compute(f"{scan.label}.adjoint", head_type, head_sizes, adjoint)


def _of_first(
    scan: Scan, backwards: ir.Value, prefix: int, number: int, front: Sequence[ir.Value]
) -> Consumer:
    """One of the states to begin with, and its adjoint."""
    length, box = scan.shape()
    type_, sizes = type_with(box, scan.element)
    end = b.sub(length, b.index(1))

    def fill(indices: list[ir.Value]) -> ir.Value:
        return Copier(dict(zip(scan.first.arguments, indices))).block(scan.first)[number]

    def adjoint(indices: list[ir.Value]) -> ir.Value:
        return scan.read(backwards, [end, *indices])[number]

    definition = te.compute(f"{scan.label}.first", type_, sizes, fill)
    head_type, head_sizes = type_with([*front, *box], scan.element)
    return definition, te.compute(f"{scan.label}.adjoint", head_type, head_sizes, adjoint)


def tangent_of_scan(op: ir.Operation, tangents: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """The tangents of all states: a recurrence of states and tangents, of which these are taken."""
    scan = Scan(op)
    length, box = scan.shape()
    count = scan.states

    def seed(read: ir.Operation, copier: Copier) -> ir.Value | None:
        tensor, *indices = read.operands
        tangent = tangents.get(tensor)
        return None if tangent is None else te.read(tangent, copier.values(indices))

    def values_and_tangents(
        block: ir.Block, copier: Copier, incoming: Sequence[ir.Value]
    ) -> list[ir.Value]:
        copied_tangents = Tangents(copier, seed)
        for argument, slope in zip(list(block.arguments)[len(block.arguments) - count :], incoming):
            copied_tangents.set(argument, slope)
        values, slopes = copied_tangents.block(block)
        zero = b.number(0.0, scan.element)
        return [*values, *(zero if slope is None else slope for slope in slopes)]

    def first(indices: list[ir.Value]) -> list[ir.Value]:
        return values_and_tangents(scan.first, Copier(dict(zip(scan.first.arguments, indices))), [])

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        (*values,) = arguments
        copier = Copier({})
        scan.behind(copier, values[: len(values) - count])
        return values_and_tangents(scan.step, copier, values[len(values) - count :])

    type_, sizes = type_with([length, *box, b.index(2 * count)], scan.element)
    states = te.scan(f"{scan.label}.tangents", type_, sizes, 2 * count, first, step)
    type_, sizes = type_with(extents(op.results[0]), scan.element)

    def tangent(indices: list[ir.Value]) -> ir.Value:
        if count == 1:
            return te.read(states, [*indices, b.index(1)])
        return te.read(states, [*indices[:-1], b.add(indices[-1], b.index(count))])

    return te.compute(f"{scan.label}.tangent", type_, sizes, tangent)
