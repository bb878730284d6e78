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
        """How many states there are, one after the other; the box, at the insertion point."""
        length, *rest = extents(self.op.results[0])
        return length, rest[: len(rest) - (self.states > 1)]

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
    found = []
    for number in range(scan.states):
        found.append(_of_steps(scan, backwards, prefix, number, extents(head)[:prefix]))
        found.append(_of_first(scan, backwards, prefix, number, extents(head)[:prefix]))
    return found


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
        number, *rest = arguments
        indices, adjoints = rest[: prefix + len(box)], rest[prefix + len(box) :]
        at = b.sub(b.sub(end, number), b.index(1))
        point = indices[prefix:]
        states = scan.read(scan.op.results[0], [at, *point])
        given = heads(at, indices)
        for position in range(scan.states):
            for part in _parts(scan, [at, *point, *states], position, adjoints):
                given[position] = sum_of(given[position], part)
        return given

    return te.scan(f"{scan.label}.adjoint", type_, sizes, scan.states, first, step)


def _parts(
    scan: Scan, values: Sequence[ir.Value], position: int, adjoints: Sequence[ir.Value]
) -> list[ir.Value]:
    """What the adjoints of the next states give to that of one of the states."""
    copier = Copier({})
    scan.behind(copier, values)
    tangents = Tangents(copier, lambda op, copier: None)
    state = scan.step.arguments[len(scan.step.arguments) - scan.states + position]
    tangents.set(state, b.number(1.0, scan.element))
    slopes = tangents.block(scan.step)[1]
    given = block_operations(scan.step)[-1].operands
    return [
        tangents.weighed(value, slope, adjoint)
        for value, slope, adjoint in zip(given, slopes, adjoints)
        if slope is not None
    ]


def _of_steps(
    scan: Scan, backwards: ir.Value, prefix: int, number: int, front: Sequence[ir.Value]
) -> Consumer:
    """One state behind each step, and its adjoint."""
    length, box = scan.shape()
    known = constant_integer(length)
    steps = b.sub(length, b.index(1)) if known is None else b.index(known - 1)
    type_, sizes = type_with([steps, *box], scan.element)

    def fill(indices: list[ir.Value]) -> ir.Value:
        copier = Copier({})
        scan.behind(copier, [*indices, *scan.read(scan.op.results[0], indices)])
        return copier.block(scan.step)[number]

    def adjoint(indices: list[ir.Value]) -> ir.Value:
        step, rest = indices[prefix], [*indices[:prefix], *indices[prefix + 1 :]]
        at = b.sub(b.sub(steps, b.index(1)), step)
        return scan.read(backwards, [at, *rest])[number]

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
        own = tangents.get(tensor)
        return None if own is None else te.read(own, copier.values(indices))

    def both(block: ir.Block, copier: Copier, known: Sequence[ir.Value]) -> list[ir.Value]:
        made = Tangents(copier, seed)
        for argument, slope in zip(list(block.arguments)[len(block.arguments) - count :], known):
            made.set(argument, slope)
        values, slopes = made.block(block)
        zero = b.number(0.0, scan.element)
        return [*values, *(zero if slope is None else slope for slope in slopes)]

    def first(indices: list[ir.Value]) -> list[ir.Value]:
        return both(scan.first, Copier(dict(zip(scan.first.arguments, indices))), [])

    def step(arguments: list[ir.Value]) -> list[ir.Value]:
        (*given,) = arguments
        copier = Copier({})
        scan.behind(copier, given[: len(given) - count])
        return both(scan.step, copier, given[len(given) - count :])

    type_, sizes = type_with([length, *box, b.index(2 * count)], scan.element)
    states = te.scan(f"{scan.label}.tangents", type_, sizes, 2 * count, first, step)
    type_, sizes = type_with(extents(op.results[0]), scan.element)

    def taken(indices: list[ir.Value]) -> ir.Value:
        if count == 1:
            return te.read(states, [*indices, b.index(1)])
        return te.read(states, [*indices[:-1], b.add(indices[-1], b.index(count))])

    return te.compute(f"{scan.label}.tangent", type_, sizes, taken)
