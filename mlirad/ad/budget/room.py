"""The contents that are kept within a budget, and which of them makes room for another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from mlirad.ad.budget.components import Components
from mlirad.ad.budget.cuts import Cuts
from mlirad.ad.budget.eviction import EvictionQueue
from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.held_cuts import HeldCuts
from mlirad.ad.budget.heuristics import Heuristic


class Machine(Protocol):
    """An executor of plans: the program's memory, or a test's."""

    def keep(self, content: Content) -> None:
        """Copy what a unit holds now."""

    def drop(self, content: Content) -> None:
        """Let go of a copy."""

    def put(self, content: Content) -> None:
        """Let a unit hold what was copied."""

    def exchange(self, content: Content, other: Content) -> None:
        """Let a unit hold what was copied, and the copy, from now on of another content, what it
        held."""

    def run(self, step: int) -> None:
        """Launch again."""

    def reverse(self, step: int) -> None:
        """Run a reverse."""

    def take_apart(self, contents: Sequence[Content], pieces: Sequence[int]) -> None:
        """Copies of a unit become copies of its parts, one after the other; there is room for one
        of them more."""


class NoRoomError(Exception):
    """Contents that have to be kept do not fit into the budget."""


class Room:
    """Copies of contents. Those that are `fixed` stay; others make room, that of the lowest score
    first."""

    def __init__(
        self, graph: Graph, machine: Machine, budget: Callable[[], int], heuristic: Heuristic
    ) -> None:
        self.graph, self.machine, self.budget = graph, machine, budget
        self.components = Components(graph)
        self.fixed: dict[Content, None] = {}
        self.cuts = Cuts(graph)
        self.held = HeldCuts(graph, self.cuts)
        self.loose = EvictionQueue(graph, self.components, heuristic, self.held)
        self.bytes = self.peak = 0
        self.reserved = 0  # for what is about to be fixed
        self.is_open = False  # what has to be kept is, within the budget or not, as it may grow
        self.least = 0  # bytes that there are, whatever the budget is
        self.dropped: dict[int, int] = {}  # how often, by unit
        self._by_first_use: dict[int, list[Content]] = {}

    def __contains__(self, content: object) -> bool:
        return content in self.loose or content in self.fixed

    def limit(self) -> int:
        """Bytes that there are."""
        return max(self.budget(), self.least)

    def free(self) -> int:
        """Bytes that nothing takes."""
        return self.limit() - self.bytes - self.reserved

    def can_fix(self, size: int) -> bool:
        """Return whether there would be room for some bytes besides what is fixed."""
        return sum(self.graph.bytes_of(self.fixed)) + size <= self.limit()

    def has_room(self, size: int, used: Collection[Content]) -> bool:
        """Return whether there is room for some bytes, made of what is not about to be used; of
        that, too, where it does not do."""
        self.loose.lock(used)
        while self.free() < size and (least := self.loose.least()) is not None:
            self._give_up(least)
        self.loose.unlock()
        if self.free() >= size:
            return True
        self._make_room(size)
        return False

    def fix(self, content: Content) -> None:
        """Keep a content from now on. Raises NoRoomError where that cannot be."""
        if content in self.loose:
            self.loose.remove(content)
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
            least = self.loose.least()
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
        self.loose.add(content)
        while self.free() < size:
            least = self.loose.least()
            if least is None or least == content:
                self.loose.remove(content)
                self.forget(content)
                return
            self._give_up(least)
        self._copy(content, size)
        use = self.graph.first_use[content]
        self._by_first_use.setdefault(use, []).append(content)

    def exchange(self, content: Content, other: Content, *, is_fixed: bool) -> None:
        """Put a loose content into its unit, and keep in its copy what is there."""
        self.machine.exchange(content, other)
        self.loose.remove(content)
        if is_fixed:
            self.fixed[other] = None
        else:
            self._add(other)

    def _add(self, content: Content) -> None:
        self.loose.add(content)
        self._by_first_use.setdefault(self.graph.first_use[content], []).append(content)

    def forget(self, content: Content) -> None:
        """Forget a content that is gone, and has not been kept."""
        self.components.forget(content)
        front = self.components.front
        if self.graph.first_use.get(content, front) < front:
            self.held.lose(content)
            self.release_held()
        self.dropped[content[0]] = self.dropped.get(content[0], 0) + 1

    def release_held(self) -> None:
        """Let what is held no more be given up as others."""
        if self.held.released:
            self.loose.enter_again(self.held.released)
            self.held.released.clear()

    def come_to(self, front: int) -> None:
        """Follow the sweep to a launch; what only later ones use is let go."""
        self.loose.come_to(front)
        for content in self._by_first_use.pop(front, ()):
            if content in self.loose:
                self._drop(content)

    def release(self, content: Content) -> None:
        """Let go of a content that was fixed."""
        if content in self.fixed:
            del self.fixed[content]
            self._let_go(content)

    def split(self, unit: int, pieces: Sequence[int]) -> None:
        """Follow a unit that has been taken apart: copies that have to be kept are too, others are
        given up. Raises NoRoomError where there is no room to do it."""
        for content in [content for content in self.loose if content[0] == unit]:
            self._drop(content)
            for piece in pieces:
                self.forget((piece, content[1]))
        fixed = [content for content in self.fixed if content[0] == unit]
        if fixed:
            size = self.graph.sizes[unit]
            self._make_room(size)
            self.peak = max(self.peak, self.bytes + size)
        self.machine.take_apart(fixed, pieces)
        for content in fixed:
            del self.fixed[content]
            self.fixed.update({(piece, content[1]): None for piece in pieces})

    def clear(self) -> None:
        """Let go of everything."""
        for content in [*self.loose]:
            self._drop(content)
        for content in self.fixed:
            self._let_go(content)
        self.fixed = {}

    def _copy(self, content: Content, size: int) -> None:
        self.bytes += size
        self.peak = max(self.peak, self.bytes)
        self.machine.keep(content)

    def _give_up(self, content: Content) -> None:
        self._drop(content)
        self.forget(content)

    def _drop(self, content: Content) -> None:
        self.loose.remove(content)
        self._let_go(content)

    def _let_go(self, content: Content) -> None:
        self.bytes -= self.graph.sizes[content[0]]
        self.machine.drop(content)
