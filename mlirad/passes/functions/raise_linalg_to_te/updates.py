"""The operation by which the body of a reduction combines a point with the result so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Math
from mlirad.ir.walk import defining_op
from mlirad.passes.functions.raise_linalg_to_te.definitions import Unraisable, needed_by

COMBINERS: dict[str, tuple[te.ReduceKind, float]] = {  # what they are, and what they begin with
    Arith.ADDF: (te.ReduceKind.SUM, 0.0),
    Arith.ADDI: (te.ReduceKind.SUM, 0),
    Arith.MULF: (te.ReduceKind.PROD, 1.0),
    Arith.MULI: (te.ReduceKind.PROD, 1),
    Arith.MAXIMUMF: (te.ReduceKind.MAX, float("-inf")),
    Arith.MINIMUMF: (te.ReduceKind.MIN, float("inf")),
}
Emit = Callable[[ir.Value], ir.Value]


@dataclass
class Updates:
    """The combination of a reduction: its name, and the values that a point adds, each computed
    from values of the body: one, the negative of one, a product of two."""

    combiner: str = ""
    values: list[Callable[[Emit], ir.Value]] = field(default_factory=list)

    def emit(self, emit: Emit) -> ir.Value:
        """Emit what a point adds; `emit` does so for a value of the body."""
        values = [value(emit) for value in reversed(self.values)]
        return reduce(lambda a, c: b.make(self.combiner, a.type, [a, c]), values)

    def add(self, combiner: str, value: Callable[[Emit], ir.Value]) -> None:
        """Add a value. Raises Unraisable if the others are combined otherwise."""
        if self.combiner not in ("", combiner):
            raise Unraisable
        self.combiner = combiner
        self.values.append(value)


def updates_of(body: ir.Block, so_far: ir.Value, yielded: ir.Value) -> Updates:
    """Return how a value is made of one that was before. Raises Unraisable if not by combining."""
    updates = Updates()
    value = yielded
    while value != so_far:
        op = defining_op(value)
        if op is None or op.block != body or len(list(op.results[0].uses)) != 1:
            raise Unraisable
        value = _peel(op, _position(body, op, so_far), updates)
    if len(list(so_far.uses)) != 1 or not updates.values:
        raise Unraisable
    return updates


def _position(body: ir.Block, op: ir.Operation, so_far: ir.Value) -> int:
    """Return which operand of an operation is made of what was before."""
    holds = [
        operand == so_far or any(so_far in op.operands for op in needed_by(body, operand))
        for operand in op.operands
    ]
    if sum(holds) != 1:
        raise Unraisable
    return holds.index(True)


def _peel(op: ir.Operation, position: int, updates: Updates) -> ir.Value:
    """Add what an operation adds to one of its operands, which is returned."""
    operands = list(op.operands)
    value = operands.pop(position)
    if op.name in COMBINERS:
        updates.add(op.name, lambda emit: emit(operands[0]))
    elif op.name == Arith.SUBF and position == 0:
        updates.add(Arith.ADDF, lambda emit: b.negf(emit(operands[0])))
    elif op.name == Math.FMA and position == 2:
        updates.add(Arith.ADDF, lambda emit: b.mulf(*map(emit, operands)))
    else:
        raise Unraisable
    return value
