"""Writes that may change, after a load ran, the element that was loaded: dependence distances of
affine indices.

For every axis the two indices, as affine forms in the loops around both accesses, give the distance
(write minus load) between the iterations that meet in one element, or show that none do (Allen and
Kennedy 2001, §2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import msgspec

from mlirad.analysis.linear import LinearForms
from mlirad.analysis.races.distances import Axis, Distances, Indices, Solution
from mlirad.analysis.races.guards import Guards
from mlirad.analysis.trips import spans
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.structured import is_branch, is_parallel, is_while
from mlirad.ir.walk import is_defined_in


class Meeting(msgspec.Struct, frozen=True):
    """The distances at which two accesses may be at one element; `within`, those where both are in
    one iteration of all parallel loops, None where they are not there together. With `is_decided`,
    the indices demand nothing else."""

    distances: Distances
    within: Distances | None
    is_decided: bool


class Place(Enum):
    """The place at which two accesses meet: the parallel loop around both, or the function."""

    SAME_ITERATION = 0
    OTHER_ITERATION = 1  # which is a race


class Overwrites:
    """Answers for the accesses of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.forms = LinearForms()
        self.guards = Guards(graph, self.forms)
        self.indices = Indices(self.forms)
        self._solutions: dict[tuple[int, int, tuple[Node, ...]], Solution | None] = {}

    def meeting(self, load: Node, write: Node) -> Place | None:
        """Return the place at which `write` may hit the element of `load` after it, or None.

        Conditions that exclude one another are seen. Indices that are not affine may be anything
        within an iteration; that they do not meet another iteration's is checked before a
        derivative is taken (`insert-collision-checks`).
        """
        return self.judge(load, write)[0]

    def judge(self, load: Node, write: Node) -> tuple[Place | None, bool]:
        """`meeting`, and whether the indices decide which iterations meet."""
        common = self._common_loops(load, write)
        meeting = self._meeting(load, write, common)
        if meeting is None:
            return None, True
        where = self._later(load, write, common, meeting)
        if where != Place.OTHER_ITERATION:
            return where, meeting.is_decided
        loop = next(loop for loop in common if is_parallel(loop))
        if not self._exclude(load, write, loop, meeting.distances):
            return where, meeting.is_decided
        together = {self.graph.values[number]: 0 for number in loop.induction}
        if any(meeting.distances.get(iv) for iv in together):
            return None, meeting.is_decided
        distances = {**meeting.distances, **together}
        where = self._later(
            load, write, common, Meeting(distances, meeting.within, meeting.is_decided)
        )
        return where, meeting.is_decided

    def are_apart(self, left: Node, right: Node, loop: Node) -> bool:
        """Return whether it is certain that different iterations of a parallel loop do not meet in
        two accesses."""
        meeting = self._meeting(left, right, self._common_loops(left, right))
        if meeting is None:
            return True
        if all(
            meeting.distances.get(self.graph.values[number]) == 0 or span.is_single
            for number, span in zip(loop.induction, spans(loop.op))
        ):
            return True
        return self._exclude(left, right, loop, meeting.distances)

    def _exclude(self, left: Node, right: Node, loop: Node, distances: Distances) -> bool:
        """Return whether conditions keep two accesses apart in iterations at some distances."""
        plain = {iv: d for iv, d in distances.items() if iv not in self.indices.counted}
        return self.guards.exclude(left, right, loop, plain)

    def _meeting(self, load: Node, write: Node, common: list[Node]) -> Meeting | None:
        """Return where two accesses may meet; None where they do not."""
        loops = [loop for loop in common if not is_branch(loop)]
        serial = [loop for loop in loops if not is_parallel(loop)]
        together = self._solve_distances(load, write, loops)
        if together is None:
            return None
        distances, is_decided = together
        if is_decided or len(serial) == len(loops):
            return Meeting(distances, distances, is_decided)
        within = self._solve_distances(load, write, serial)
        return Meeting(distances, None if within is None else within[0], is_decided)

    def _solve_distances(
        self, load: Node, write: Node, loops: Sequence[Node]
    ) -> tuple[Distances, bool] | None:
        """The distances of some loops at which all axes of two accesses are equal, what is computed
        in these being another number, and whether nothing else is demanded; None where they never
        are."""
        distances: Distances = {}
        is_decided = True
        around = tuple(loops)
        for index, other in zip(load.indices, write.indices):
            key = index, other, around
            if key not in self._solutions:
                self._solutions[key] = self._axis(*key)
            solution = self._solutions[key]
            if solution is None:
                return None
            is_decided &= solution.is_all
            for iv, steps in solution.distances.items():
                if distances.setdefault(iv, steps) != steps:
                    return None
        return distances, is_decided

    def _axis(self, index: int, other: int, loops: Sequence[Node]) -> Solution | None:
        left, right = self.graph.values[index], self.graph.values[other]
        if not self.indices.interval(left).meets(self.indices.interval(right)):
            return None
        moving = {self.graph.values[v] for loop in loops for v in loop.induction}
        axis = Axis(self.indices, self.indices.sum_of(left), self.indices.sum_of(right))
        return axis.solve(moving, lambda leaf: any(is_defined_in(leaf, loop.op) for loop in loops))

    def constants(self, node: Node) -> dict[int, int]:
        """The indices of an access that are constants, by axis."""
        intervals = [self.indices.interval(self.graph.values[index]) for index in node.indices]
        return {
            axis: interval.low
            for axis, interval in enumerate(intervals)
            if interval.low is not None and interval.low == interval.high
        }

    def _common_loops(self, load: Node, write: Node) -> list[Node]:
        around = load.owners
        return [owner for owner in write.owners if owner in around]

    def _later(self, load: Node, write: Node, common: list[Node], meeting: Meeting) -> Place | None:
        """Return the place at which the write can come after the load, in the loops around both."""
        distances = meeting.distances
        for loop in common:
            if is_branch(loop):
                if _branch(loop, load) is not _branch(loop, write):
                    return None
                continue
            if is_while(loop):
                return Place.SAME_ITERATION
            for number, span in zip(loop.induction, spans(loop.op)):
                distance = distances.get(self.graph.values[number])
                in_any_order = is_parallel(loop)
                if distance is None and (
                    span.is_single or (in_any_order and not meeting.is_decided)
                ):
                    distance = 0
                if distance is None:
                    return Place.OTHER_ITERATION if in_any_order else Place.SAME_ITERATION
                if distance != 0:
                    if in_any_order:
                        return Place.OTHER_ITERATION if meeting.is_decided else None
                    return Place.SAME_ITERATION if span.step is None or distance > 0 else None
            if is_parallel(loop):
                if meeting.within is None:
                    return None
                distances = {**meeting.within, **distances}
        return Place.SAME_ITERATION if load.order < write.order else None


class Neighbours:
    """Accesses to one array, found by the constants among their indices: those that have different
    ones along an axis do not meet."""

    def __init__(self, overwrites: Overwrites, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self._constants = overwrites.constants
        self._known = [overwrites.constants(node) for node in nodes]
        # the numbers of the nodes that have constants along some axes
        self._by_axes: dict[tuple[int, ...], list[int]] = {}
        for number, constants in enumerate(self._known):
            self._by_axes.setdefault(tuple(constants), []).append(number)
        self._tables: dict[tuple[object, ...], dict[tuple[int, ...], list[int]]] = {}

    def near(self, node: Node) -> list[Node]:
        """The nodes that may meet an access to the array, in order."""
        constants = self._constants(node)
        numbers: list[int] = []
        for axes in self._by_axes:
            shared = tuple([axis for axis in axes if axis in constants])
            table = self._table(axes, shared)
            numbers += table.get(tuple([constants[axis] for axis in shared]), ())
        return [self.nodes[number] for number in sorted(numbers)]

    def _table(
        self, axes: tuple[int, ...], shared: tuple[int, ...]
    ) -> dict[tuple[int, ...], list[int]]:
        """The numbers of those with constants along some axes, by those that another access has
        too."""
        table = self._tables.get((axes, shared))
        if table is None:
            table = self._tables[axes, shared] = {}
            for number in self._by_axes[axes]:
                key = tuple([self._known[number][axis] for axis in shared])
                table.setdefault(key, []).append(number)
        return table


def _branch(owner: Node, node: Node) -> BlockNode:
    block = node.block
    while block.owner is not owner:
        assert block.owner is not None
        block = block.owner.block
    return block


def overwrites_of(graph: Graph) -> Overwrites:
    """Return the overwrites of a function, which passes that only set marks share."""
    return graph.fact(Overwrites, lambda: Overwrites(graph))
