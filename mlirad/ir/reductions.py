"""Cells that all iterations of a parallel loop update: sums in registers while it runs."""

from __future__ import annotations

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_exact, round_like
from mlirad.ir.structured import is_serial_loop
from mlirad.ir.walk import Array, array_root, enclosing, operations

PLAIN_MARK = "field.plain"  # of an update that none at the same time meets
REDUCE_MARK = "field.reduce"  # of an update: the number of the cell, among those of its loop


class Reduction(msgspec.Struct):
    """One cell that all iterations update."""

    kind: str
    array: ir.Value
    indices: list[ir.Value]
    type: ir.Type
    updates: list[ir.Operation] = msgspec.field(default_factory=list)

    def neutral(self) -> ir.Value:
        """Return the neutral element of a combination."""
        floats: dict[str, float] = {
            AtomicKind.ADD: 0.0,
            AtomicKind.MUL: 1.0,
            AtomicKind.MIN: float("inf"),
            AtomicKind.MAX: float("-inf"),
        }
        if b.is_float(self.type):
            return b.number(floats[self.kind], self.type)
        bits = ir.IntegerType(self.type).width
        top = (1 << (bits - 1)) - 1
        integers: dict[str, int] = {
            AtomicKind.ADD: 0,
            AtomicKind.MUL: 1,
            AtomicKind.MIN: top,
            AtomicKind.MAX: -top - 1,
            AtomicKind.MINU: -1,
            AtomicKind.MAXU: 0,
            AtomicKind.AND: -1,
            AtomicKind.OR: 0,
            AtomicKind.XOR: 0,
        }
        return b.number(integers[self.kind], self.type)

    def combine(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """The update, rounded as the program's is."""
        return round_like(b.combine(self.kind, left, right), self.updates[0])

    @property
    def is_exact(self) -> bool:
        """Return whether the order of the updates matters, because decisions are made of what they
        leave."""
        return any(map(is_exact, self.updates))

    def is_repeated_in(self, loop: ir.Operation) -> bool:
        """Return whether one iteration of a loop may update the cell many times."""
        return any(_is_repeated(op, loop) for op in self.updates)


def _is_repeated(op: ir.Operation, loop: ir.Operation) -> bool:
    owner = enclosing(op)
    while owner != loop and not is_serial_loop(owner):
        owner = enclosing(owner)
    return owner != loop


def find_reductions(loop: ir.Operation) -> list[Reduction]:
    """The cells that all iterations of a loop update, as an earlier pass marked them."""
    by_cell: dict[tuple[Array, ir.Attribute], Reduction] = {}
    for op in operations(loop):
        if is_atomic(op) and REDUCE_MARK in op.attributes:
            array, indices = split_access(op)
            cell = array_root(array), op.attributes[REDUCE_MARK]
            if cell not in by_cell:
                kind = atomic_kind(op)
                by_cell[cell] = Reduction(kind, array, indices, op.operands[0].type)
            by_cell[cell].updates.append(op)
    return list(by_cell.values())


def accumulators(reductions: list[Reduction]) -> list[ir.Value]:
    """A slot for each sum, at the insertion point."""
    slots = []
    for reduction in reductions:
        slot = b.slot(reduction.type)
        b.write(reduction.neutral(), slot)
        slots.append(slot)
    return slots


def join(reductions: list[Reduction], outer: list[ir.Value], inner: list[ir.Value]) -> None:
    """Add some sums to others."""
    for reduction, target, source in zip(reductions, outer, inner):
        b.write(reduction.combine(b.read(target), b.read(source)), target)
