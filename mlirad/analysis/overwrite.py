"""Whether a write may change, after a load ran, the element that was loaded: dependence distances
of affine indices.

For every axis the two indices, as affine forms in the loops around both accesses, give the distance
(write minus load) between the iterations that meet in one element, or show that none do (Allen and
Kennedy 2001, §2.2).
"""

from __future__ import annotations

from mlirad.analysis.guards import Guards
from mlirad.analysis.linear import Linear, LinearForms
from mlirad.analysis.trips import span_of, spans
from mlirad.bindings import ir
from mlirad.data_classes import data_class
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_parallel, is_while
from mlirad.ir.walk import is_defined_in


@data_class(frozen=True)
class Interval:
    """The values an index may take; None where not known."""

    low: int | None
    high: int | None

    def meets(self, other: Interval) -> bool:
        """Whether a value may lie in both."""
        before = self.high is not None and other.low is not None and self.high < other.low
        after = self.low is not None and other.high is not None and self.low > other.high
        return not before and not after


class Overwrites:
    """Answers for the accesses of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.forms = LinearForms()
        self.guards = Guards(graph, self.forms)
        self._intervals: dict[int, Interval] = {}

    def meeting(self, load: Node, write: Node) -> str | None:
        """Where `write` may hit the element of `load` after it: in the same "iteration" of the
        parallel loop around both (or of the function), in "another" iteration, which is a race, or
        nowhere (None).

        Conditions that exclude one another are seen. Indices that are not affine may be anything
        within an iteration; that they do not meet another iteration's is checked before a
        derivative is taken (`insert-collision-checks`).
        """
        return self.judge(load, write)[0]

    def judge(self, load: Node, write: Node) -> tuple[str | None, bool]:
        """`meeting`, and whether the indices decide which iterations meet."""
        common = self._common_loops(load, write)
        found = self._distances(load, write, common)
        if found is None:
            return None, True
        distances, all_known = found
        where = self._later(load, write, common, distances, all_known)
        if where != "another":
            return where, all_known
        loop = next(loop for loop in common if is_parallel(loop))
        if not self.guards.exclude(load, write, loop, distances):
            return where, all_known
        within = {self.graph.values[number]: 0 for number in loop.induction}
        if any(distances.get(iv) for iv in within):
            return None, all_known
        return self._later(load, write, common, {**distances, **within}, all_known), all_known

    def are_apart(self, left: Node, right: Node, loop: Node) -> bool:
        """Whether it is certain that different iterations of a parallel loop do not meet in two
        accesses."""
        found = self._distances(left, right, self._common_loops(left, right))
        if found is None:
            return True
        distances, _ = found
        distances.update(self._one_to_one(left, right))
        if all(
            distances.get(self.graph.values[number]) == 0 or span.is_single
            for number, span in zip(loop.induction, spans(loop.op))
        ):
            return True
        return self.guards.exclude(left, right, loop, distances)

    def _distances(
        self, load: Node, write: Node, common: list[Node]
    ) -> tuple[dict[ir.Value, int], bool] | None:
        """The distances of the loops around two accesses, and whether all axes are known; None if
        nothing meets."""
        ivs = [self.graph.values[v] for loop in common for v in loop.induction]
        distances: dict[ir.Value, int] = {}
        all_known = True
        for mine, other in zip(load.indices, write.indices):
            left, right = self._form(mine), self._form(other)
            if not self._interval(mine).meets(self._interval(other)):
                return None
            distance = self._distance(left, right, ivs, common)
            if distance == "never":
                return None
            if distance is None or isinstance(distance, str):
                all_known = False
                continue
            iv, steps = distance
            if iv is not None and distances.setdefault(iv, steps) != steps:
                return None
        return distances, all_known

    def _one_to_one(self, left: Node, right: Node) -> dict[ir.Value, int]:
        """The distances 0 that axes demand on which two accesses have one sum of several
        indices."""
        ivs = [
            self.graph.values[v]
            for owner in self._common_loops(left, right)
            for v in owner.induction
        ]
        forms = [
            (self._form(mine), self._form(other))
            for mine, other in zip(left.indices, right.indices)
        ]
        return {iv: 0 for mine, other in forms if mine == other for iv in self._digits(mine, ivs)}

    def _digits(self, form: Linear[ir.Value], ivs: list[ir.Value]) -> list[ir.Value]:
        """The indices of loops in a sum that has another value for every choice of them, as `8 * i
        + j` for j below 8."""
        rest, found = 0, []
        for factor, leaf in sorted(
            ((abs(factor), leaf) for leaf, factor in form.terms), key=lambda term: term[0]
        ):
            bounds = self._bounds(leaf)
            if leaf not in ivs or bounds.low is None or bounds.high is None or factor <= rest:
                return []
            rest += factor * (bounds.high - bounds.low)
            found.append(leaf)
        return found

    def _common_loops(self, load: Node, write: Node) -> list[Node]:
        around = load.owners
        return [owner for owner in write.owners if owner in around]

    def _distance(
        self,
        left: Linear[ir.Value],
        right: Linear[ir.Value],
        ivs: list[ir.Value],
        common: list[Node],
    ) -> tuple[ir.Value | None, int] | str | None:
        """The distance one axis demands of one loop; "never" where the axis rules a meeting out,
        None if unknown."""
        leaves = {*left.names, *right.names}
        moving = [leaf for leaf in leaves if leaf in ivs]
        for leaf in leaves:
            same = left.coefficient(leaf) == right.coefficient(leaf)
            if not same or (
                leaf not in moving and any(is_defined_in(leaf, loop.op) for loop in common)
            ):
                return None
        gap = left.constant - right.constant
        if not moving:
            return (None, 0) if gap == 0 else "never"
        if len(moving) > 1:
            return None
        factor = left.coefficient(moving[0])
        return (moving[0], gap // factor) if gap % factor == 0 else "never"

    def _later(
        self,
        load: Node,
        write: Node,
        common: list[Node],
        distances: dict[ir.Value, int],
        all_known: bool,
    ) -> str | None:
        """Where the write can come after the load, given the distances of the loops around both."""
        for loop in common:
            if is_branch(loop):
                if _branch(loop, load) is not _branch(loop, write):
                    return None
                continue
            if is_while(loop):
                return "iteration"
            for number, span in zip(loop.induction, spans(loop.op)):
                distance = distances.get(self.graph.values[number])
                in_any_order = is_parallel(loop)
                if distance is None and (span.is_single or (in_any_order and not all_known)):
                    distance = 0
                if distance is None:
                    return "another" if in_any_order else "iteration"
                if distance != 0:
                    if in_any_order:
                        return "another" if all_known else None
                    return "iteration" if span.step is None or distance > 0 else None
        return "iteration" if load.order < write.order else None

    def _form(self, index: int) -> Linear[ir.Value]:
        return self.forms.of(self.graph.values[index])

    def _interval(self, index: int) -> Interval:
        """The values that an index may take, looked at once."""
        if index not in self._intervals:
            self._intervals[index] = self._interval_of(self._form(index))
        return self._intervals[index]

    def _interval_of(self, form: Linear[ir.Value]) -> Interval:
        low: int | None = form.constant
        high: int | None = form.constant
        for leaf, factor in form.terms:
            bounds = self._bounds(leaf)
            if bounds.low is None or bounds.high is None:
                return Interval(None, None)
            ends = (factor * bounds.low, factor * bounds.high)
            low, high = (low or 0) + min(ends), (high or 0) + max(ends)
        return Interval(low, high)

    def _bounds(self, value: ir.Value) -> Interval:
        span = span_of(value)
        if span is None:
            return Interval(None, None)
        return Interval(span.low, None if span.high is None else span.high - 1)


def _branch(owner: Node, node: Node) -> BlockNode:
    block = node.block
    while block.owner is not owner:
        assert block.owner is not None
        block = block.owner.block
    return block
