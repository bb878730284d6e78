"""The iteration of a parallel loop that makes some updates of an element."""

from __future__ import annotations

from typing import NamedTuple

from mlirad.analysis.linear import Linear, number, unknown
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import constant_integer
from mlirad.passes.gpu.gather_shifted_updates.element_boxes import Reach
from mlirad.passes.gpu.gather_shifted_updates.repeated_body import (
    Anew,
    Sums,
    Values,
    evaluated,
    guards_of,
    make_conditions,
    unchanged,
)
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Solution, Update


class Thread(NamedTuple):
    """The thread of an element: the boxes of elements and the element's place, by the variables
    that these give."""

    meetings: Meetings
    reaches: dict[ir.Value, Reach]
    places: Values


class Iteration:
    """Made at the insertion point: the indices that an element gives, with tests whether there is
    such an iteration."""

    def __init__(self, thread: Thread, shift: list[Update], values: Values) -> None:
        self.meetings, self.reaches, self.places = thread
        self.shift, self.solutions = shift, shift[0].solutions
        self.cells = list({update.cell: update for update in shift}.values())
        self.needed = {op for update in shift for op in update.needed}
        self.values, self.tests = self._solved(values)
        make_conditions(self.meetings.loop, self.needed, self.values)
        self.guards = guards_of(shift, self.values)

    @property
    def is_strided(self) -> bool:
        """Whether only some elements give an iteration."""
        return any(abs(solution.factor) != 1 for solution in self.solutions.values())

    def tested(self) -> list[ir.Value]:
        """What the iteration adds, where there is one."""
        if not self.tests:
            return self._added(certain=False)
        test = b.all_of(self.tests)
        branch = b.if_else(test, [one.op.operands[0].type for one in self.cells])
        with ir.InsertionPoint(branch.then):
            b.yield_(self._added(certain=False))
        with ir.InsertionPoint(branch.otherwise):
            b.yield_(Sums().given(self.cells))
        return list(branch.results)

    def all_tests(self) -> list[ir.Value]:
        """Whether what `certain` takes for granted holds."""
        return [*self.tests, *(self.values[guard] for guard in self.guards)]

    def certain(self) -> list[ir.Value]:
        """What the iteration adds, where it is known that there is one, and that its guards that
        are bounds hold."""
        return self._added(certain=True)

    def _added(self, *, certain: bool) -> list[ir.Value]:
        sums = Sums()
        known = self.guards if certain else []
        Anew(self.meetings.loop, self.shift, self._within, known).body(dict(self.values), sums)
        return sums.given(self.cells)

    def _solved(self, given: Values) -> tuple[Values, list[ir.Value]]:
        """The indices, and whether an element gives them."""
        values, tests = dict(given), list[ir.Value]()
        for variable, solution in self.solutions.items():
            values[variable] = self._solve(solution, given, tests)
        for variable in Parallel(self.meetings.loop).indices:
            if variable in self.solutions:
                bounds = bounds_of_index(variable)
                assert bounds is not None
                tests += self._within(variable, values[variable], bounds.lower, bounds.upper)
        return values, tests

    def _solve(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The index that an element gives."""
        variable, factor, rest, modulus = solution
        if modulus:
            return self._wrapped(solution, values, tests)
        distance = self._distance(variable, rest.times(-1), values)
        if factor == 1:
            return distance
        if factor == -1:
            return b.sub(b.index(0), distance)
        step = b.index(factor)
        left = b.remsi(distance, step)
        tests.append(b.compare(b.EQ, left, b.index(0)))
        return b.divsi(distance, step)

    def _wrapped(self, solution: Solution, values: Values, tests: list[ir.Value]) -> ir.Value:
        """The index that leaves an element when it, and a rest, are divided."""
        variable, _, rest, modulus = solution
        bounds, n = bounds_of_index(variable), b.index(modulus)
        assert bounds is not None
        place, end = self.places[variable], self.reaches[variable].end
        if end is None or end > modulus:
            tests.append(b.compare(b.SLT, place, n))
        low = self.meetings.form(bounds.lower)
        back = rest.plus(low).times(-1)
        if back.terms:
            left = b.remsi(self._distance(variable, back, values), n)
            under = b.compare(b.SLT, left, b.index(0))
            found = b.select(under, b.add(left, n), left)
        elif back.constant % modulus:
            moved = b.add(place, b.index(back.constant % modulus))
            over = b.compare(b.SGE, moved, n)
            found = b.select(over, b.sub(moved, n), moved)
        else:
            found = place
        return found if low == number(0) else b.add(found, bounds.lower)

    def _distance(self, variable: ir.Value, moved: Linear[ir.Value], values: Values) -> ir.Value:
        """The element along an axis, moved by a sum."""
        known = {
            leaf: values[leaf] if leaf in values else unchanged(leaf, self.meetings.loop, {})
            for leaf in moved.names
        }
        return evaluated(unknown(self.places[variable]).plus(moved), known)

    def _within(
        self, variable: ir.Value, value: ir.Value, low: ir.Value, high: ir.Value
    ) -> list[ir.Value]:
        """Tests whether an index lies between its bounds, but those that hold for all elements."""
        _, factor, rest, modulus = self.solutions[variable]
        box, first, last = self.reaches[variable], constant_integer(low), constant_integer(high)
        if modulus:
            assert first is not None and last is not None
            return [] if last - first == modulus else [b.compare(b.SLT, value, high)]
        if factor != 1 or rest.terms:
            return [b.compare(b.SLE, low, value), b.compare(b.SLT, value, high)]
        tests = []
        if first is None or box.least is None or box.least - rest.constant < first:
            tests.append(b.compare(b.SLE, low, value))
        if last is None or box.end is None or box.end - rest.constant > last:
            tests.append(b.compare(b.SLT, value, high))
        return tests
