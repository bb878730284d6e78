"""The contents that are kept within a budget, and which of them makes room for another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from mlirad.ad.budget.components import Components
from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.heuristics import Candidate, Heuristic
from mlirad.ad.checkpoint.schedule import repetitions


class Machine(Protocol):
    """What does as a plan says: the program's memory, or a test's."""

    def keep(self, content: Content) -> None:
        """Copy what a unit holds now."""

    def drop(self, content: Content) -> None:
        """Let go of a copy."""

    def put(self, content: Content) -> None:
        """Let a unit hold what was copied."""

    def run(self, step: int) -> None:
        """Launch again."""

    def reverse(self, step: int) -> None:
        """Run a reverse."""

    def take_apart(self, contents: Sequence[Content], parts: Sequence[int]) -> None:
        """Copies of a unit become copies of its parts, one after the other; there is room for one
        of them more."""


class NoRoomError(Exception):
    """What has to be kept does not fit into the budget."""


class Room:
    """Copies of contents. Those that are `fixed` stay; others make room, that of the lowest score
    first."""

    def __init__(
        self, graph: Graph, machine: Machine, budget: Callable[[], int], heuristic: Heuristic
    ) -> None:
        self.graph, self.machine, self.budget = graph, machine, budget
        self._heuristic = heuristic
        self.components = Components(graph)
        self.fixed: dict[Content, None] = {}
        self.loose: dict[Content, None] = {}
        self.bytes = self.peak = 0
        self.reserved = 0  # for what the program left
        self.locked: set[Content] = set()  # about to be used
        self.is_open = False  # what has to be kept is, within the budget or not, as it may grow
        self.wanted = 0  # contents that there was reason to keep, in all
        self.dropped: dict[int, int] = {}  # how often, by unit
        self._by_first_use: dict[int, list[Content]] = {}

    def __contains__(self, content: Content) -> bool:
        return content in self.loose or content in self.fixed

    def free(self) -> int:
        """Bytes that nothing takes."""
        return self.budget() - self.bytes - self.reserved

    @property
    def front(self) -> int:
        """The launch that the sweep has come to."""
        return self.components.front

    def reserve(self, size: int) -> None:
        """Have room for some bytes from now on. Raises NoRoomError where there is none."""
        self.reserved += size
        self._make_room(0)

    def fix(self, content: Content) -> None:
        """Keep a content from now on. Raises NoRoomError where that cannot be."""
        if content in self.loose:
            del self.loose[content]
            self.fixed[content] = None
            return
        if content in self.fixed:
            return
        size = self.graph.sizes[content[0]]
        self._make_room(size)
        self.fixed[content] = None
        self._copy(content, size)

    def _make_room(self, size: int) -> None:
        while self.free() < size:
            least = self._least()
            if least is None and self.is_open:
                return
            if least is None:
                raise NoRoomError
            self._give_up(least)

    def offer(self, content: Content) -> None:
        """Keep a content as long as others are of less use."""
        if content in self:
            return
        size = self.graph.sizes[content[0]]
        self.loose[content] = None
        while self.free() < size:
            least = self._least()
            if least is None or least == content:
                del self.loose[content]
                self.forget(content)
                return
            self._give_up(least)
        self._copy(content, size)
        use = self.graph.first_use[content]
        self._by_first_use.setdefault(use, []).append(content)

    def forget(self, content: Content) -> None:
        """A content is gone, which has not been kept."""
        self.components.forget(content)
        self.dropped[content[0]] = self.dropped.get(content[0], 0) + 1

    def come_to(self, front: int) -> None:
        """The sweep has come to a launch; what only later ones use is let go."""
        self.components.front = front
        for content in self._by_first_use.pop(front, ()):
            if content in self.loose:
                self._drop(content)

    def release(self, content: Content) -> None:
        """Let go of a content that was fixed."""
        if content in self.fixed:
            del self.fixed[content]
            self._let_go(content)

    def split(self, unit: int, parts: Sequence[int]) -> None:
        """A unit has been taken apart: copies that have to be kept are too, others are given up.
        Raises NoRoomError where there is no room to do it."""
        for content in [one for one in self.loose if one[0] == unit]:
            self._drop(content)
            for part in parts:
                self.forget((part, content[1]))
        fixed = [one for one in self.fixed if one[0] == unit]
        if fixed:
            size = self.graph.sizes[unit]
            self._make_room(size)
            self.peak = max(self.peak, self.bytes + size)
        self.machine.take_apart(fixed, parts)
        for content in fixed:
            del self.fixed[content]
            self.fixed.update({(part, content[1]): None for part in parts})

    def clear(self) -> None:
        """Let go of everything."""
        for content in (*self.loose, *self.fixed):
            self._let_go(content)
        self.loose, self.fixed = {}, {}

    def _copy(self, content: Content, size: int) -> None:
        self.bytes += size
        self.peak = max(self.peak, self.bytes)
        self.machine.keep(content)

    def _give_up(self, content: Content) -> None:
        self._drop(content)
        self.forget(content)

    def _drop(self, content: Content) -> None:
        del self.loose[content]
        self._let_go(content)

    def _let_go(self, content: Content) -> None:
        self.bytes -= self.graph.sizes[content[0]]
        self.machine.drop(content)

    def _least(self) -> Content | None:
        repeated = self._repetitions()
        steps, sizes, front = self.graph.steps, self.graph.sizes, self.front
        least, score = None, float("inf")
        for content in self.loose:
            unit, maker = content
            if content in self.locked:
                continue
            one = Candidate(
                sizes[unit],
                steps[maker].cost,
                self.components.cost(content),
                max(1, front - maker),
                repeated,
            )
            found = self._heuristic(one)
            if least is None or found < score:
                least, score = content, found
        return least

    def _repetitions(self) -> int:
        """Of a binomial schedule for the contents in front of where the sweep is."""
        steps = len(self.graph.steps)
        behind = max(1, self.wanted * self.front // max(1, steps))
        return repetitions(behind, max(1, len(self.loose)))
