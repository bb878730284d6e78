"""Iterations of a parallel loop that one thread runs one after another, while what they add to some
cells is in slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.gpu.accumulator import Accumulator, add_slots, empty_slots
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    copy_with,
    is_defined_in,
    owner_operation,
)

SERIAL = 1024  # iterations that a thread adds up before they join its sum

Indices = Callable[[ir.Value], list[ir.Value]]


class Iterations:
    """The body of a loop, which is moved to where it is run; `indices` makes its indices of the
    number of an iteration."""

    def __init__(self, loop: ir.Operation, sums: Sequence[Accumulator], indices: Indices) -> None:
        self.loop, self.sums, self._indices = loop, sums, indices

    def run(
        self,
        first: ir.Value,
        end: ir.Value,
        step: ir.Value,
        slots: Sequence[ir.Value],
        turns: int | None,
    ) -> None:
        """Run every so many-th from the first on, at most `turns` of them if that is known."""
        if turns == 1:
            inside = b.if_else(b.compare(b.SLT, first, end), [], with_else=False)
            with at_end(inside.then, self.loop.location):
                self.run_one(first, slots)
                b.yield_()
        elif turns is not None and turns <= SERIAL:
            self._run_each(first, end, step, slots)
        else:
            far = b.mul(step, b.index(SERIAL))
            starts = b.for_loop(first, end, far)
            with at_end(starts.body, self.loop.location):
                inner = empty_slots(self.sums)
                bounds = [b.add(starts.induction, far), end]
                last = b.minsi(*bounds)
                self._run_each(starts.induction, last, step, inner)
                add_slots(self.sums, slots, inner)
                b.yield_()

    def _run_each(
        self, first: ir.Value, end: ir.Value, step: ir.Value, slots: Sequence[ir.Value]
    ) -> None:
        loop = b.for_loop(first, end, step)
        with at_end(loop.body, self.loop.location):
            self.run_one(loop.induction, slots)
            b.yield_()

    def run_one(self, number: ir.Value, slots: Sequence[ir.Value]) -> None:
        """Move the body of the loop to the insertion point, for the iteration of a number. What
        inner loops of an iteration add up joins the sum as one."""
        indices = self._indices(number)
        repeated = [s for s in self.sums if s.reduction.is_repeated_in(self.loop)]
        inner = dict(zip(repeated, empty_slots(repeated)))
        for sum_, slot in zip(self.sums, slots):
            for update in sum_.reduction.updates:
                _update_slot(sum_, update, inner.get(sum_, slot))
        end = owner_operation(b.index(0))
        body = Parallel(self.loop)
        for op in block_operations(body.body)[:-1]:
            op.move_before(end)
        end.erase()
        for old, new in zip(body.indices, indices):
            old.replace_all_uses_with(new)
        outer = [slot for s, slot in zip(self.sums, slots) if s in inner]
        add_slots(repeated, outer, list(inner.values()))


def _update_slot(sum_: Accumulator, update: ir.Operation, slot: ir.Value) -> None:
    with before(update):
        value = sum_.widen(update.operands[0])
        b.write(sum_.combine(b.read(slot), value), slot)
    update.erase()


class Cells:
    """The cells of sums, which iterations have found inside of a loop."""

    def __init__(self, sums: Sequence[Accumulator], threads: ir.Operation) -> None:
        self.sums, self.threads = sums, threads

    def update(
        self, totals: Sequence[ir.Value], available: dict[ir.Value, ir.Value] | None = None
    ) -> None:
        """Update every cell once, at the insertion point; for values of the loop there may be
        others that are `available` there."""
        values = {} if available is None else dict(available)
        for sum_, total in zip(self.sums, totals):
            reduction = sum_.reduction
            marks = {PLAIN_MARK: ir.UnitAttr.get(), **sum_.marks}
            cell = [reduction.array, *reduction.indices]
            array, *indices = [self._again(value, values) for value in cell]
            field.atomic(sum_.narrow(total), array, indices, reduction.kind, marks)

    def _again(self, value: ir.Value, values: dict[ir.Value, ir.Value]) -> ir.Value:
        """A value that an iteration makes of what is outside of the loop, or known: made anew."""
        if value not in values and is_defined_in(value, self.threads):
            op = owner_operation(value)
            operands = [self._again(operand, values) for operand in op.operands]
            values[value] = copy_with(op, operands).results[0]
        return values.get(value, value)
