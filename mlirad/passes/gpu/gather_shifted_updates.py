"""Gather updates of shifted elements: a thread of each element makes all of them, without atomics.

The reverse of a stencil adds to `g[i - 1, j]`, `g[i + 1, j]`, `g[i, j - 1]` ... from iteration (i,
j), and that of a sum over pairs to `g[j]` from all i: iterations meet, so the updates would have to
be atomic. All of them are sums, and may be done in any order. So here, for every element, one
thread goes through the iterations that reach it (`i = p + 1`, `i = p - 1`, ...; all i), computes
anew what they add, where they are in the loop and their guards hold, and makes one update. Strides
(`2 * i + 1`) and remainders (`(i + 1) % n`) are solved for the iteration too. The loop itself is
left with what else it does, and runs behind.
"""

from __future__ import annotations

from functools import partial

from mlirad.analysis.linear import Linear, number
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import Parallel, is_parallel
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    constant_integer,
    functions,
    operations,
)
from mlirad.passes.gpu._anew import (
    Anew,
    Sums,
    Values,
    conjunction,
    evaluated,
    repeated,
    unchanged,
)
from mlirad.passes.gpu._element_boxes import reach
from mlirad.passes.gpu._gathers import Gathers, shifts
from mlirad.passes.gpu._solved_updates import Solution, Update, only_reads

REQUIRES = KERNELS


def gather_shifted_updates(module: ir.Operation) -> None:
    """Let the thread of each element make its updates, where iterations share elements."""
    for function in functions(module):
        for loop in [op for op in operations(function) if is_parallel(op)]:
            meetings = Meetings(loop)
            groups = Gathers(loop, meetings).groups()
            for group in groups:
                _Elements(loop, meetings, group).make()
            for update in [update for group in groups for update in group]:
                update.op.erase()
            if groups and all(map(only_reads, block_operations(Parallel(loop).body)[:-1])):
                loop.erase()


class _Elements:
    """The loop over elements that takes the place of some updates."""

    def __init__(self, loop: ir.Operation, meetings: Meetings, group: list[Update]) -> None:
        self.loop, self.meetings, self.group = loop, meetings, group
        self.indices = Parallel(loop).indices
        self.cells = list({update.cell: update for update in group}.values())
        self.variables = group[0].cell.variables
        with before(loop):
            self.reaches = {v: reach(meetings, group, v) for v in self.variables}
            ends = self.reaches.values()
            self.made = b.parallel_loop(
                [one.low for one in ends],
                [one.high for one in ends],
                [b.index(1) for _ in ends],
                attributes_of(loop),
            )
        self.place: Values = dict(zip(self.variables, self.made.indices))

    def make(self) -> None:
        """Fill the loop."""
        with at_end(self.made.body, self.loop.location):
            missing = [iv for iv in self.indices if iv not in self.variables]
            for update, total in zip(self.cells, self._over(missing, {})):
                with update.op.location:
                    self._update(update, total)
            b.end_parallel()

    def _update(self, update: Update, total: ir.Value) -> None:
        values: Values = {}
        array = unchanged(update.array, self.loop, values)
        indices = []
        for axis in update.cell.axes:
            if isinstance(axis, Linear):
                for leaf in axis.names:
                    values[leaf] = unchanged(leaf, self.loop, values)
                indices.append(evaluated(axis, values))
            else:
                indices.append(self.place[axis])
        field.atomic(total, array, indices, marks=attributes_of(update.op))

    def _over(self, missing: list[ir.BlockArgument], values: Values) -> list[ir.Value]:
        """The sums of the elements over the indices of the loop that the element does not tell."""
        if missing:
            bounds = bounds_of_index(missing[0])
            assert bounds is not None
            return repeated(
                bounds, self.cells, lambda i: self._over(missing[1:], {**values, missing[0]: i})
            )
        sums = Sums()
        for shift in shifts(self.group):
            cells = list({update.cell: update for update in shift}.values())
            for update, value in zip(cells, self._in_front(shift, cells, 0, values)):
                with update.op.location:
                    sums.add(update, value)
        return sums.given(self.cells)

    def _in_front(
        self, shift: list[Update], cells: list[Update], depth: int, values: Values
    ) -> list[ir.Value]:
        """The sums of some elements over the loops that tell, with the element, the iteration."""
        loops = shift[0].in_front()
        if depth == len(loops):
            return self._iteration(shift, cells, dict(values))
        loop = loops[depth]
        bounds = [unchanged(bound, self.loop, {}) for bound in list(loop.op.operands)[:3]]
        return repeated(
            bounds,
            cells,
            lambda i: self._in_front(shift, cells, depth + 1, {**values, loop.induction: i}),
        )

    def _iteration(
        self, shift: list[Update], cells: list[Update], values: Values
    ) -> list[ir.Value]:
        """What one iteration adds, where it is one of the loop's."""
        tests: list[ir.Value] = []
        solutions = shift[0].solutions
        for variable, solution in solutions.items():
            values[variable] = self._solve(solution, values, tests)

        def within(variable: ir.Value, low: ir.Value, high: ir.Value) -> list[ir.Value]:
            return self._within(solutions[variable], values[variable], low, high)

        for variable in [iv for iv in self.indices if iv in solutions]:
            bounds = bounds_of_index(variable)
            assert bounds is not None
            tests += within(variable, bounds.lower, bounds.upper)
        anew, sums = Anew(self.loop, shift, within), Sums()
        anew.conditions(values)
        if not tests:
            anew.body(values, sums)
            return sums.given(cells)
        branch = b.if_else(conjunction(tests), [one.op.operands[0].type for one in cells])
        for block, fill in ((branch.then, partial(anew.body, values)), (branch.otherwise, None)):
            with ir.InsertionPoint(block):
                given = Sums()
                if fill is not None:
                    fill(given)
                b.yield_(given.given(cells))
        return list(branch.results)

    def _solve(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The variable that an element gives; with tests whether it gives one."""
        variable, factor, rest, modulus = solution
        if modulus:
            return self._around(solution, values, tests)
        place = self.place[variable]
        target: Linear[ir.Value] = Linear(frozenset({(place, 1)}), 0)
        own = {leaf: self._known(leaf, values) for leaf in rest.names}
        distance = evaluated(target.plus(rest, -1), own)
        if factor == 1:
            return distance
        if factor == -1:
            return b.sub(b.index(0), distance)
        step = b.index(factor)
        left = b.make("arith.remsi", step.type, [distance, step])
        tests.append(b.compare(b.EQ, left, b.index(0)))
        return b.make("arith.divsi", step.type, [distance, step])

    def _around(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The variable that leaves an element when it, and a rest, are divided."""
        variable, _, rest, modulus = solution
        place, bounds, n = self.place[variable], bounds_of_index(variable), b.index(modulus)
        assert bounds is not None
        end = self.reaches[variable].end
        if end is None or end > modulus:
            tests.append(b.compare(b.SLT, place, n))
        low = self.meetings.form(bounds.lower)
        distance = rest.plus(low).times(-1)
        if not distance.terms:
            forward = distance.constant % modulus
            if not forward:
                return b.add(place, bounds.lower)
            moved = b.add(place, b.index(forward))
            over = b.compare(b.SGE, moved, n)
            wrapped = b.make("arith.select", n.type, [over, b.sub(moved, n), moved])
        else:
            own = {leaf: self._known(leaf, values) for leaf in distance.names}
            target: Linear[ir.Value] = Linear(frozenset({(place, 1)}), 0)
            left = b.make("arith.remsi", n.type, [evaluated(target.plus(distance), own), n])
            under = b.compare(b.SLT, left, b.index(0))
            wrapped = b.make("arith.select", n.type, [under, b.add(left, n), left])
        return b.add(wrapped, bounds.lower) if low != number(0) else wrapped

    def _known(self, leaf: ir.Value, values: Values) -> ir.Value:
        return values[leaf] if leaf in values else unchanged(leaf, self.loop, {})

    def _within(
        self, solution: Solution, value: ir.Value, low: ir.Value, high: ir.Value
    ) -> list[ir.Value]:
        """Tests whether a variable lies between its bounds, but those that hold for all
        elements."""
        first, last = constant_integer(low), constant_integer(high)
        if solution.modulus:
            assert first is not None and last is not None
            return [] if last - first == solution.modulus else [b.compare(b.SLT, value, high)]
        box, (_, factor, rest, _) = self.reaches[solution.variable], solution
        if factor != 1 or rest.terms:
            return [b.compare(b.SLE, low, value), b.compare(b.SLT, value, high)]
        tests = []
        if first is None or box.least is None or box.least - rest.constant < first:
            tests.append(b.compare(b.SLE, low, value))
        if last is None or box.end is None or box.end - rest.constant > last:
            tests.append(b.compare(b.SLT, value, high))
        return tests
