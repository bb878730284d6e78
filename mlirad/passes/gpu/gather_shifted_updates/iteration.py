"""The iteration of a parallel loop that makes some updates of an element."""

from __future__ import annotations

from typing import NamedTuple

from mlirad.analysis.linear import Linear, build_sum, number, unknown
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import constant_integer
from mlirad.passes.gpu.gather_shifted_updates.element_boxes import Reach
from mlirad.passes.gpu.gather_shifted_updates.repeated_body import (
    BodyCopy,
    Sums,
    Values,
    guards_of,
    invariant,
    make_conditions,
)
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Solution, Update


class Thread(NamedTuple):
    """The thread of an element: the boxes of elements and the element's place, by the variables
    that these give."""

    meetings: Meetings
    reaches: dict[ir.Value, Reach]
    places: Values


class Iteration:
    """The indices that an element gives, made at the insertion point, with tests whether there is
    such an iteration."""

    def __init__(self, thread: Thread, shift: list[Update], values: Values) -> None:
        self.meetings, self.reaches, self.places = thread
        self.shift, self.solutions = shift, shift[0].solutions
        self.cells = list({update.cell: update for update in shift}.values())
        self.needed = {op for update in shift for op in update.needed}
        self.values, self.tests = self._solve_indices(values)
        make_conditions(self.meetings.loop, self.needed, self.values)
        self.guards = guards_of(shift, self.values)

    @property
    def is_strided(self) -> bool:
        """Return whether only some elements give an iteration."""
        return any(abs(solution.factor) != 1 for solution in self.solutions.values())

    def guarded_sums(self) -> list[ir.Value]:
        """Return what the iteration adds, if there is one."""
        if not self.tests:
            return self._sum_updates(certain=False)
        test = b.all_of(self.tests)
        branch = b.if_else(test, [update.type for update in self.cells])
        with ir.InsertionPoint(branch.then):
            b.yield_(self._sum_updates(certain=False))
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(Sums().totals(self.cells))
        return list(branch.results)

    def all_tests(self) -> list[ir.Value]:
        """Return whether what `unguarded_sums` takes for granted holds."""
        return [*self.tests, *(self.values[guard] for guard in self.guards)]

    def unguarded_sums(self) -> list[ir.Value]:
        """Return what the iteration adds, if it is known that there is one, and that its guards
        that are bounds hold."""
        return self._sum_updates(certain=True)

    def _sum_updates(self, *, certain: bool) -> list[ir.Value]:
        sums = Sums()
        guards = self.guards if certain else []
        copy = BodyCopy(self.meetings.loop, self.shift, self._tests_of, guards)
        copy.body(dict(self.values), sums)
        return sums.totals(self.cells)

    def _solve_indices(self, outer_values: Values) -> tuple[Values, list[ir.Value]]:
        """The indices, and whether an element gives them."""
        values, tests = dict(outer_values), list[ir.Value]()
        for variable, solution in self.solutions.items():
            values[variable] = self._solve(solution, outer_values, tests)
        for variable in Parallel(self.meetings.loop).indices:
            if variable in self.solutions:
                bounds = bounds_of_index(variable)
                assert bounds is not None
                tests += self._tests_of(variable, values[variable], bounds.lower, bounds.upper)
        return values, tests

    def _solve(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The index that an element gives."""
        variable, factor, offset, modulus = solution
        if modulus:
            return self._solve_modulo(solution, values, tests)
        distance = self._distance(variable, offset.times(-1), values)
        if factor == 1:
            return distance
        if factor == -1:
            return b.sub(b.index(0), distance)
        step = b.index(factor)
        left = b.remsi(distance, step)
        tests.append(b.compare(b.EQ, left, b.index(0)))
        return b.divsi(distance, step)

    def _solve_modulo(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The index that leaves an element when it, and a rest, are divided."""
        variable, _, offset, modulus = solution
        bounds, n = bounds_of_index(variable), b.index(modulus)
        assert bounds is not None
        place, end = self.places[variable], self.reaches[variable].end
        if end is None or end > modulus:
            tests.append(b.compare(b.SLT, place, n))
        low = self.meetings.form(bounds.lower)
        back = offset.plus(low).times(-1)
        if back.terms:
            left = b.remsi(self._distance(variable, back, values), n)
            under = b.compare(b.SLT, left, b.index(0))
            index = b.select(under, b.add(left, n), left)
        elif back.constant % modulus:
            moved = b.add(place, b.index(back.constant % modulus))
            over = b.compare(b.SGE, moved, n)
            index = b.select(over, b.sub(moved, n), moved)
        else:
            index = place
        return index if low == number(0) else b.add(index, bounds.lower)

    def _distance(self, variable: ir.Value, moved: Linear[ir.Value], values: Values) -> ir.Value:
        """The element along an axis, moved by a sum."""
        loop = self.meetings.loop
        leaf_values = {v: values[v] if v in values else invariant(v, loop, {}) for v in moved.names}
        return build_sum(unknown(self.places[variable]).plus(moved), leaf_values)

    def _tests_of(
        self, variable: ir.Value, value: ir.Value, low: ir.Value, high: ir.Value
    ) -> list[ir.Value]:
        """Tests whether an index lies between its bounds, but those that hold for all elements."""
        _, factor, offset, modulus = self.solutions[variable]
        box, first, last = self.reaches[variable], constant_integer(low), constant_integer(high)
        if modulus:
            assert first is not None and last is not None
            return [] if last - first == modulus else [b.compare(b.SLT, value, high)]
        if factor != 1 or offset.terms:
            return [b.compare(b.SLE, low, value), b.compare(b.SLT, value, high)]
        tests = []
        if first is None or box.least is None or box.least - offset.constant < first:
            tests.append(b.compare(b.SLE, low, value))
        if last is None or box.end is None or box.end - offset.constant > last:
            tests.append(b.compare(b.SLT, value, high))
        return tests
