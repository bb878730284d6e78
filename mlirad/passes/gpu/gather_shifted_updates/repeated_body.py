"""The body of a parallel loop, made again as far as some updates of it need it: with a sum for each
element in the place of updates.

What stands for the loop's indices is given. Conditions that are bounds of them can be made before
the rest, and the rest without them, if they are known to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.ops import Arith
from mlirad.ir.structured import For, If, is_branch, is_for
from mlirad.ir.walk import (
    block_operations,
    clone,
    conjuncts,
    is_defined_in,
    is_inside,
    owner_operation,
)
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Cell, Update

Values = dict[ir.Value, ir.Value]  # what stands for values of the old body
# Of a variable, what stands for it, and its bounds.
Tests = Callable[[ir.Value, ir.Value, ir.Value, ir.Value], list[ir.Value]]


class Sums:
    """The sums of some elements, in the order in which they are added up."""

    def __init__(self) -> None:
        self.values: dict[Cell, ir.Value] = {}

    def add(self, update: Update, value: ir.Value) -> None:
        """Add to the element of an update, rounding as that does."""
        total = self.values.get(update.cell)
        self.values[update.cell] = (
            value if total is None else round_like(b.combine("add", total, value), update.op)
        )

    def totals(self, updates: Sequence[Update]) -> list[ir.Value]:
        """The sums of the elements of some updates, 0 if nothing was added."""
        return [self.values.get(u.cell) or b.number(0, u.type) for u in updates]


class BodyCopy:
    """Makes the body for the updates that one iteration makes."""

    def __init__(
        self, loop: ir.Operation, updates: list[Update], tests: Tests, certain: Sequence[ir.Value]
    ) -> None:
        self.loop, self.updates, self.tests, self.certain = loop, updates, tests, certain
        self.by_op = {update.op: update for update in updates}
        self.needed = {op for update in updates for op in update.needed}
        self.owners = {op for update in updates for op in update.owners}
        self.in_front = {inner.op for update in updates for inner in update.loops_in_front()}
        self.solved = {variable for update in updates for variable in update.solutions}

    def body(self, values: Values, sums: Sums) -> None:
        """Add the updates of an iteration."""
        self._block(self.loop.regions[0].blocks[0], values, sums)

    def _block(self, block: ir.Block, values: Values, sums: Sums) -> None:
        for op in block_operations(block):
            if op in self.by_op:
                value = op.operands[0]
                with op.location:
                    sums.add(self.by_op[op], values.get(value, value))
            elif op in self.needed:
                if not all(result in values for result in op.results):
                    clone(op, values)
            elif op in self.owners:
                with op.location:
                    self._add_structured(op, values, sums)

    def _add_structured(self, op: ir.Operation, values: Values, sums: Sums) -> None:
        first = {update.cell: update for update in self.updates if is_inside(update.op, op)}
        inside = list(first.values())
        if not is_for(op) and op.operands[0] in self.certain:
            return self._block(If(op).then, values, sums)
        if not is_for(op):
            condition = values.get(op.operands[0], op.operands[0])
            totals = self._branch(condition, If(op).blocks, inside, values)
        elif op in self.in_front:
            return self._block(For(op).body, values, sums)
        elif For(op).induction in self.solved:
            tests = self._tests_of(op, values)
            if not tests:
                return self._block(For(op).body, values, sums)
            totals = self._branch(b.all_of(tests), [For(op).body], inside, values)
        else:
            totals = self._loop(op, inside, values)
        for update, value in zip(inside, totals):
            sums.add(update, value)
        return None

    def _tests_of(self, op: ir.Operation, values: Values) -> list[ir.Value]:
        """Return whether the index that was computed is one of the loop's."""
        low, high = (values.get(bound, bound) for bound in list(op.operands)[:2])
        return self.tests(For(op).induction, values[For(op).induction], low, high)

    def _branch(
        self, condition: ir.Value, blocks: list[ir.Block], updates: list[Update], values: Values
    ) -> list[ir.Value]:
        branch = b.if_else(condition, [update.type for update in updates])
        for block, old in zip((branch.then, branch.otherwise), [*blocks, None]):
            with ir.InsertionPoint(block):
                sums = Sums()
                if old is not None:
                    self._block(old, dict(values), sums)
                b.yield_(sums.totals(updates))
        return list(branch.results)

    def _loop(self, op: ir.Operation, updates: list[Update], values: Values) -> list[ir.Value]:
        bounds = [values.get(bound, bound) for bound in list(op.operands)[:3]]

        def iteration(index: ir.Value) -> list[ir.Value]:
            sums = Sums()
            self._block(For(op).body, {**values, For(op).induction: index}, sums)
            return sums.totals(updates)

        return sum_over_loop(bounds, updates, iteration)


def make_conditions(loop: ir.Operation, needed: set[ir.Operation], values: Values) -> None:
    """Make what takes few operations on integers, so that conditions can be joined."""
    for op in block_operations(loop.regions[0].blocks[0]):
        if (
            op in needed
            and _is_quick(op)
            and all(v in values or not is_defined_in(v, loop) for v in op.operands)
        ):
            clone(op, values)


def guards_of(updates: list[Update], values: Values) -> list[ir.Value]:
    """The conditions around updates that were made, and are bounds."""
    guards: dict[ir.Value, None] = {}
    for update in updates:
        for op in update.owners:
            if is_branch(op) and any(
                is_inside(update.op, child) for child in block_operations(If(op).then)
            ):
                guards.setdefault(op.operands[0])
    return [guard for guard in guards if guard in values and _is_bound(guard)]


def sum_over_loop(
    bounds: Sequence[ir.Value],
    updates: list[Update],
    iteration: Callable[[ir.Value], list[ir.Value]],
) -> list[ir.Value]:
    """The sums of what the iterations of a loop give for the elements of some updates."""
    low, high, step = bounds
    loop = b.for_loop(low, high, step, [b.number(0, update.type) for update in updates])
    with ir.InsertionPoint(loop.body):
        values = iteration(loop.induction)
        totals = [
            round_like(b.combine("add", total, value), update.op)
            for total, value, update in zip(loop.carried, values, updates)
        ]
        b.yield_(totals)
    return list(loop.results)


def invariant(value: ir.Value, loop: ir.Operation, values: Values) -> ir.Value:
    """A value that a loop computes from values outside of it, computed again."""
    if not is_defined_in(value, loop):
        return value
    if value not in values:
        op = owner_operation(value)
        for operand in op.operands:
            invariant(operand, loop, values)
        clone(op, values)
    return values[value]


def _is_bound(condition: ir.Value) -> bool:
    """Return whether a condition is made of comparisons that hold in all but a few places."""
    tests = map(owner_operation, conjuncts(condition))
    return all(op.name == Arith.CMPI and b.predicate_of(op) != b.EQ for op in tests)


def _is_quick(op: ir.Operation) -> bool:
    return (
        op.name.startswith("arith.")
        and not op.name.startswith(("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv"))
        and not any(b.is_float(value.type) for value in (*op.operands, *op.results))
    )
