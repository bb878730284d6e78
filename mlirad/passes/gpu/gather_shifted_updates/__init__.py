"""Gather updates of shifted elements: a thread of each element makes all of them, without atomics.

The reverse of a stencil adds to `g[i - 1, j]`, `g[i + 1, j]`, `g[i, j - 1]` ... from iteration (i,
j), and that of a sum over pairs to `g[j]` from all i: iterations meet, so the updates would have to
be atomic. All of them are sums, and may be done in any order. So here, for every element, one
thread goes through the iterations that reach it (`i = p + 1`, `i = p - 1`, ...; all i), computes
again what they add, where they are in the loop and their guards hold, and makes one update. Strides
(`2 * i + 1`) and remainders (`(i + 1) % n`) are solved for the iteration too. Where elements are
few (weights that all iterations read), several threads share out the iterations of each, and make
an atomic each. Updates of an iteration's own elements that read no more than those are made with
them. What is dear to compute again is kept in memory of the launch. The loop itself is left with
what else it does, and runs behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.analysis.linear import Linear, build_sum
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index, fold, product
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import at_end, attributes_of, before, block_operations, functions, operations
from mlirad.passes.gpu.gather_shifted_updates.element_boxes import reach
from mlirad.passes.gpu.gather_shifted_updates.gathers import Gathers, Group, shifts
from mlirad.passes.gpu.gather_shifted_updates.iteration import Iteration, Thread
from mlirad.passes.gpu.gather_shifted_updates.kept_values import KeptValues
from mlirad.passes.gpu.gather_shifted_updates.repeated_body import (
    Sums,
    Values,
    invariant,
    sum_over_loop,
)
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Update, only_reads

LONGEST_AT_ONCE = 400  # operations
_MADE = "field.elements"  # a loop that this pass made

REQUIRES = KERNELS


def gather_shifted_updates(module: ir.Operation) -> None:
    """If iterations share elements, let one thread per element make all of its updates."""
    for function in functions(module):
        loops = free_loops(operations(function))
        for loop in [op for op in loops if _MADE not in op.attributes]:
            _gather(module, loop)


def _gather(module: ir.Operation, loop: ir.Operation) -> None:
    """Move the updates of shared elements out of a loop; what is dear last, as fewer may share."""
    while True:
        gathers = Gathers(loop, Meetings(loop))
        groups = [group for group in gathers.groups() if gathers.pays(group.updates)]
        kept_values = None if groups else _dear_values(gathers)
        if kept_values is not None:
            kept_values.keep(module)
        elif not groups:
            return
        for group in groups:
            _Elements(loop, gathers.meetings, group).make()
        for update in [update for group in groups for update in group.updates]:
            update.op.erase()
        if groups and all(map(only_reads, block_operations(Parallel(loop).body)[:-1])):
            loop.erase()
            return


def _dear_values(gathers: Gathers) -> KeptValues | None:
    """Values to keep, so that updates that are dear to compute again are not."""
    for group in gathers.groups():
        if not gathers.pays(group.updates):
            kept_values = KeptValues(gathers.loop, group.updates)
            if kept_values.is_possible and gathers.pays(group.updates, kept_values):
                return kept_values
    return None


class _Elements:
    """The loop over elements that takes the place of some updates."""

    def __init__(self, loop: ir.Operation, meetings: Meetings, group: Group) -> None:
        self.loop, self.group = loop, group.updates
        self.indices = Parallel(loop).indices
        self.cells = list({update.cell: update for update in self.group}.values())
        self.variables = self.group[0].cell.variables
        with before(loop):
            reaches = {v: reach(meetings, self.group, v) for v in self.variables}
            boxes = [(reaches[v].low, reaches[v].high) for v in self.variables]
            elements = product([fold(Arith.SUBI, high, low) for low, high in boxes])
            counts = [share.threads(elements) for share in group.shared]
            for share, count in zip(group.shared, counts):
                boxes.insert(len(boxes) if share.is_last else 0, (b.index(0), count))
            lows, highs = zip(*boxes)
            ones = [b.index(1) for _ in boxes]
            marks = {**attributes_of(loop), _MADE: ir.UnitAttr.get()}
            self.element_loop = b.parallel_loop(lows, highs, ones, marks)
        indices = list(self.element_loop.indices)
        self.shares = {
            share.index: (indices.pop(-1 if share.is_last else 0), count)
            for share, count in zip(group.shared, counts)
        }
        self.thread = Thread(meetings, reaches, dict(zip(self.variables, indices)))

    def make(self) -> None:
        """Fill the loop."""
        with at_end(self.element_loop.body, self.loop.location):
            missing = [iv for iv in self.indices if iv not in self.variables]
            for update, total in zip(self.cells, self._sum_over_indices(missing, {})):
                with update.op.location:
                    self._update(update, total)
            b.end_parallel()

    def _update(self, update: Update, total: ir.Value) -> None:
        values: Values = {}
        array = invariant(update.array, self.loop, values)
        indices = []
        for axis in update.cell.axes:
            if isinstance(axis, Linear):
                for leaf in axis.names:
                    values[leaf] = invariant(leaf, self.loop, values)
                indices.append(build_sum(axis, values))
            else:
                indices.append(self.thread.places[axis])
        field.atomic(total, array, indices, marks=attributes_of(update.op))

    def _sum_over_indices(self, missing: list[ir.BlockArgument], values: Values) -> list[ir.Value]:
        """The sums of the elements over the indices of the loop that the element does not tell."""
        if missing:
            return sum_over_loop(
                self._bounds(missing[0]),
                self.cells,
                lambda i: self._sum_over_indices(missing[1:], {**values, missing[0]: i}),
            )
        if any(shift[0].loops_in_front() for shift in shifts(self.group)):
            return self._sum_shifts(values)
        return self._sum_iterations(
            [Iteration(self.thread, shift, values) for shift in shifts(self.group)]
        )

    def _bounds(self, index: ir.BlockArgument) -> Sequence[ir.Value]:
        """The bounds of an index of the loop, as far as they are the thread's."""
        bounds = bounds_of_index(index)
        assert bounds is not None
        if index not in self.shares:
            return bounds
        number, count = self.shares[index]
        return b.add(bounds.lower, number), bounds.upper, count

    def _sum_iterations(self, iterations: list[Iteration]) -> list[ir.Value]:
        """Return what some iterations add: without a test for each, so that nothing waits for what
        another reads, where all are the loop's."""
        tests = [test for iteration in iterations for test in iteration.all_tests()]
        length = sum(len(iteration.needed) for iteration in iterations)
        is_strided = any(iteration.is_strided for iteration in iterations)
        if len(iterations) == 1 or is_strided or length > LONGEST_AT_ONCE or not tests:
            return self._total(iterations)
        branch = b.if_else(b.all_of(tests), [update.type for update in self.cells])
        for block, certain in ((branch.then, True), (branch.otherwise, False)):
            with ir.InsertionPoint(block):
                b.yield_(self._total(iterations, certain=certain))
        return list(branch.results)

    def _total(self, iterations: list[Iteration], *, certain: bool = False) -> list[ir.Value]:
        sums = Sums()
        for iteration in iterations:
            values = iteration.unguarded_sums() if certain else iteration.guarded_sums()
            for update, value in zip(iteration.cells, values):
                with update.op.location:
                    sums.add(update, value)
        return sums.totals(self.cells)

    def _sum_shifts(self, values: Values) -> list[ir.Value]:
        sums = Sums()
        for shift in shifts(self.group):
            cells = list({update.cell: update for update in shift}.values())
            for update, value in zip(cells, self._sum_over_loops(shift, cells, 0, values)):
                with update.op.location:
                    sums.add(update, value)
        return sums.totals(self.cells)

    def _sum_over_loops(
        self, shift: list[Update], cells: list[Update], depth: int, values: Values
    ) -> list[ir.Value]:
        """The sums of some elements over the loops that tell, with the element, the iteration."""
        loops = shift[0].loops_in_front()
        if depth == len(loops):
            return Iteration(self.thread, shift, values).guarded_sums()
        loop = loops[depth]
        bounds = [invariant(bound, self.loop, {}) for bound in list(loop.op.operands)[:3]]
        return sum_over_loop(
            bounds,
            cells,
            lambda i: self._sum_over_loops(shift, cells, depth + 1, {**values, loop.induction: i}),
        )
