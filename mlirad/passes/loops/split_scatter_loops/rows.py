"""Loops over the rows that shifted updates write, in the place of the updates of one loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import round_like
from mlirad.ir.ops import Arith
from mlirad.ir.structured import ANY_ORDER, For, Parallel
from mlirad.ir.walk import at_end, attributes_of, before, clone, enclosing
from mlirad.passes.loops.split_scatter_loops.bundles import Bundle, bundles_of, size_of
from mlirad.passes.loops.split_scatter_loops.shifted_updates import (
    LONGEST_BODY,
    ShiftedUpdates,
    Update,
)

Sources: TypeAlias = dict[Update, dict[ir.Value, ir.Value]]  # for the loop's indices


def gather_rows(loop: ir.Operation) -> None:
    """Move the shifted updates of a loop in front of it, if that changes nothing else."""
    updates = ShiftedUpdates(loop)
    moved = updates.find()
    if moved:
        _Gather(loop, updates).run(moved)


class _Gather:
    """The loops that take the place of the updates of one loop."""

    def __init__(self, loop: ir.Operation, updates: ShiftedUpdates) -> None:
        self.loop, self.found = loop, updates

    def run(self, moved: list[Update]) -> None:
        """Move the updates in front of the loop."""
        with before(self.loop):
            for update in moved:
                update.ranges, update.left = self.found.ranges(update)
            self._emit(moved)
        for update in moved:
            update.op.erase()

    def _emit(self, moved: list[Update]) -> None:
        bundles = bundles_of(self.found, moved)
        if self.found.rank == 1:
            for bundle in bundles:
                self._gather_last(bundle, {}, parallel=True)
            return
        first, last = (extreme(u.offsets[0] for u in moved) for extreme in (min, max))
        rows = self._parallel(
            b.add(self.found.lower[0], b.index(first)), b.add(self.found.upper[0], b.index(last))
        )
        with at_end(rows.body, rows.op.location):
            for bundle in bundles:
                self._rows(bundle, [rows.indices[0]])
            b.end_parallel()

    def _parallel(self, low: ir.Value, high: ir.Value) -> Parallel:
        return b.parallel_loop([low], [high], [b.index(1)], attributes_of(self.loop))

    def _rows(self, bundle: Bundle, target: list[ir.Value]) -> None:
        """Loops over the target's further axes but the last; all updates of an element at once
        where all reach it."""
        axis = len(target)
        if axis < self.found.rank - 1:
            first, last = (extreme(u.offsets[axis] for u in bundle[0]) for extreme in (min, max))
            low, high = (
                b.add(self.found.lower[axis], b.index(first)),
                b.add(self.found.upper[axis], b.index(last)),
            )
            loop = b.for_loop(low, high, b.index(1))
            block = loop.body
            with ir.InsertionPoint(block):
                self._rows(bundle, [*target, block.arguments[0]])
                b.yield_()
            return
        sources = {u: self._sources(u, target) for group in bundle for u in group}
        reached = [self._reaches(update, sources[update]) for update in bundle[0]]
        if len(bundle[0]) == 1 or size_of(self.found, bundle) > LONGEST_BODY:
            self._one_by_one(bundle, sources, reached)
            return
        everywhere = b.if_else(b.all_of(reached), [])
        with ir.InsertionPoint(everywhere.then):
            self._gather_last(bundle, sources, parallel=False)
            b.yield_()
        with ir.InsertionPoint(everywhere.otherwise):
            self._one_by_one(bundle, sources, reached)
            b.yield_()

    def _one_by_one(self, bundle: Bundle, sources: Sources, reached: list[ir.Value]) -> None:
        for group in bundle:
            for update, test in zip(group, reached):
                self._if(test, partial(self._row_loop, update, sources[update]))

    def _if(self, test: ir.Value, body: Callable[[], None]) -> None:
        branch = b.if_else(test, [], with_else=False)
        with ir.InsertionPoint(branch.then):
            body()
            b.yield_()

    def _sources(self, update: Update, target: list[ir.Value]) -> dict[ir.Value, ir.Value]:
        """The loop indices from which an update reaches a target."""
        return {
            iv: b.sub(q, b.index(offset))
            for iv, q, offset in zip(self.found.ivs, target, update.offsets)
        }

    def _reaches(self, update: Update, sources: dict[ir.Value, ir.Value]) -> ir.Value:
        """Return whether those indices lie in the loop and satisfy the guards."""
        tests = []
        for iv, bounds in zip(self.found.ivs, update.ranges):
            if iv in sources:
                tests += [b.compare(b.SLE, low, sources[iv]) for low in bounds.lower]
                tests += [b.compare(b.SLT, sources[iv], high) for high in bounds.upper]
        return b.all_of(tests)

    def _row_loop(
        self,
        update: Update,
        sources: dict[ir.Value, ir.Value],
        low: ir.Value | None = None,
        high: ir.Value | None = None,
    ) -> None:
        """A loop over the last axis for one update; `low` and `high` narrow it, in coordinates of
        the target."""
        bounds, offset = update.ranges[-1], b.index(update.offsets[-1])
        lows = [*bounds.lower, *([b.sub(low, offset)] if low is not None else [])]
        highs = [*bounds.upper, *([b.sub(high, offset)] if high is not None else [])]
        loop = b.for_loop(_extreme(lows, Arith.MAXSI), _extreme(highs, Arith.MINSI), b.index(1))
        block = loop.body
        with ir.InsertionPoint(block), update.op.location:
            self._update(update, {**sources, self.found.ivs[-1]: block.arguments[0]})
            b.yield_()

    def _gather_last(self, bundle: Bundle, sources: Sources, *, parallel: bool) -> None:
        """A loop over the last axis of the target for all updates where all reach it, and loops for
        the ends."""
        lows, highs = [], []
        for update in bundle[0]:
            offset = b.index(update.offsets[-1])
            lows += [b.add(low, offset) for low in update.ranges[-1].lower]
            highs += [b.add(high, offset) for high in update.ranges[-1].upper]
        low = _extreme(lows, Arith.MAXSI)
        high = _extreme([low, _extreme(highs, Arith.MINSI)], Arith.MAXSI)
        for update in [update for group in bundle for update in group]:
            self._row_loop(update, sources.get(update, {}), high=low)
            self._row_loop(update, sources.get(update, {}), low=high)
        loop = self._parallel(low, high) if parallel else _loop_in_any_order(low, high)
        with ir.InsertionPoint(loop.body):
            sums = [self._sum(group, sources, loop.body.arguments[0]) for group in bundle]
            for update, mapping in [sum_ for sum_ in sums if sum_ is not None]:
                clone(update.op, mapping)
            (b.end_parallel if parallel else b.yield_)()

    def _sum(
        self, group: list[Update], sources: Sources, target: ir.Value
    ) -> tuple[Update, dict[ir.Value, ir.Value]] | None:
        """All updates of one element: those without further guards as one, which is to be made of
        what is given."""
        total: ir.Value | None = None
        for update in group:
            mapping = {
                **sources.get(update, {}),
                self.found.ivs[-1]: b.sub(target, b.index(update.offsets[-1])),
            }
            if update.left or any(enclosing(op) != self.loop for op in self.found.slice(update)):
                self._update(update, mapping)
                continue
            for op in self.found.slice(update):
                clone(op, mapping)
            value = mapping.get(update.op.operands[0], update.op.operands[0])
            last = update, mapping
            total = value if total is None else _plus(total, value, update.op)
        if total is None:
            return None
        update, mapping = last
        mapping[update.op.operands[0]] = total
        return update, mapping

    def _update(self, update: Update, mapping: dict[ir.Value, ir.Value]) -> None:
        """The update with what it depends on, under the guards that are not bounds of loops."""
        needed = self.found.slice(update)
        at_top = [op for op in needed if enclosing(op) == self.loop]
        for op in at_top:
            clone(op, mapping)
        self._guarded_update(
            update, update.left, [op for op in needed if op not in at_top], mapping
        )

    def _guarded_update(
        self,
        update: Update,
        guards: list[tuple[ir.Value, bool]],
        inner: list[ir.Operation],
        mapping: dict[ir.Value, ir.Value],
    ) -> None:
        """The update, with what is computed in its branch, under the guards that are left."""
        if not guards:
            for op in [*inner, update.op]:
                clone(op, mapping)
            return
        (condition, holds), inner_guards = guards[0], guards[1:]
        test = mapping.get(condition, condition)
        if not holds:
            test = b.xori(test, b.number(-1, test.type))
        branch = b.if_else(test, [], with_else=False)
        with ir.InsertionPoint(branch.then):
            self._guarded_update(update, inner_guards, inner, mapping)
            b.yield_()


def _loop_in_any_order(low: ir.Value, high: ir.Value) -> For:
    loop = b.for_loop(low, high, b.index(1))
    loop.op.attributes[ANY_ORDER] = ir.UnitAttr.get()
    return loop


def _plus(total: ir.Value, value: ir.Value, update: ir.Operation) -> ir.Value:
    return round_like(b.combine(AtomicKind.ADD, total, value), update)


def _extreme(values: list[ir.Value], name: str) -> ir.Value:
    result = values[0]
    for value in values[1:]:
        result = b.make(name, result.type, [result, value])
    return result
