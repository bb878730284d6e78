"""Contents that may be given up, that of the lowest score first, without a look at each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count

from mlirad.ad.budget.components import Components
from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.held_cuts import HeldCuts
from mlirad.ad.budget.heuristics import Candidate, Heuristic
from mlirad.ad.checkpoint.schedule import repetitions

HELD, STRAY = 1e9, 0.01  # by what scores are multiplied
NEAREST, FARTHEST = 1.0, 8.0  # by how much an age grows before a score is computed again


class EvictionQueue:
    """A heap by scores as they were when they were last computed.

    Scores that have grown since are seen to when their turn comes. They fall with age: while the
    program runs, each is computed again when the age has grown by half. They fall when launches
    around run again: those of contents that were `locked` meanwhile are computed when they are
    no more. Nothing is computed before the least is asked for. What is held as part of a state goes
    last; of the others in front of the last such state, what is made again with it goes first.
    """

    def __init__(
        self, graph: Graph, components: Components, heuristic: Heuristic, states: HeldCuts
    ) -> None:
        self.graph, self.components, self._heuristic = graph, components, heuristic
        self.held = states
        self.offered = 0  # contents that there was reason to keep, in all
        self._serials: dict[Content, int] = {}  # of the entry that counts; 0 where there is none
        self._heap: list[tuple[float, int, Content]] = []
        self._due: dict[int, list[tuple[Content, int]]] = {}  # by launch; contents and serials
        self._seen_to = 0  # the launch up to which those that were due have been
        self._waiting: list[Content] = []  # for a score
        self._least = 0.0  # score that was found last
        self._next = count(1)
        self._locked: set[Content] = set()
        self._repetitions, self._known_for = 1, (0, 0)
        self._is_stale = False

    def __contains__(self, content: object) -> bool:
        return content in self._serials

    def __iter__(self) -> Iterator[Content]:
        return iter(self._serials)

    def __len__(self) -> int:
        return len(self._serials)

    def add(self, content: Content) -> None:
        """Let a content be given up from now on."""
        self._serials[content] = 0
        if content not in self._locked:
            self._waiting.append(content)

    def remove(self, content: Content) -> None:
        """Keep a content from being given up."""
        del self._serials[content]

    def lock(self, contents: Iterable[Content]) -> None:
        """Keep contents that are about to be used."""
        for content in contents:
            self._locked.add(content)
            if content in self._serials:
                self._serials[content] = 0

    def unlock(self) -> None:
        """Unlock all contents, which have been used."""
        self._waiting += sorted(self._locked & self._serials.keys())
        self._locked.clear()

    def enter_again(self, contents: Iterable[Content]) -> None:
        """Compute the scores of contents again, which have fallen."""
        for content in contents:
            if content in self._serials:
                self._serials[content] = 0
                self._waiting.append(content)

    def come_to(self, front: int) -> None:
        """Follow the sweep to a launch."""
        before, self.components.front = self.components.front, front
        self._is_stale = self._is_stale or front > before + 1

    def least(self) -> Content | None:
        """The content of the lowest score; None where there is none."""
        if self._has_changed() or self._is_stale:
            self._renew()
        else:
            self._enter_those_due()
        heap, serials = self._heap, self._serials
        while heap:
            score, serial, content = heap[0]
            if serials.get(content) != serial:
                heappop(heap)
                continue
            present = self._score(content)
            if present <= score:
                self._least = present
                return content
            heapreplace(heap, (present, serial, content))
        return None

    def _renew(self) -> None:
        self._heap = []
        self._due, self._seen_to = {}, self.components.front
        self._waiting.clear()
        self._is_stale = False
        for content in self._serials:
            if content not in self._locked:
                self._enter(content)
        heapify(self._heap)

    def _enter_those_due(self) -> None:
        serials = self._serials
        for launch in range(self._seen_to + 1, self.components.front + 1):
            for content, serial in self._due.pop(launch, ()):
                if serials.get(content) == serial:
                    self._enter(content)
        self._seen_to = max(self._seen_to, self.components.front)
        for content in self._waiting:
            if serials.get(content) == 0 and content not in self._locked:
                self._enter(content)
        self._waiting.clear()

    def _enter(self, content: Content) -> None:
        serial = self._serials[content] = next(self._next)
        score, front = self._score(content), self.components.front
        heappush(self._heap, (score, serial, content))
        growth = min(FARTHEST, max(NEAREST, score / self._least - 1)) if self._least else NEAREST
        due = front + max(1, int((front - content[1]) * growth))
        self._due.setdefault(due, []).append((content, serial))

    def _score(self, content: Content) -> float:
        unit, maker = content
        age = self.components.front - maker
        return self._weight(content) * self._heuristic(
            Candidate(
                self.graph.sizes[unit],
                self.graph.steps[maker].cost,
                self.components.cost(content),
                age if age > 1 else 1,
                self._repetitions,
            )
        )

    def _weight(self, content: Content) -> float:
        states = self.held
        if not states.chosen:
            return 1.0
        if content in states.contents:
            return HELD
        return STRAY if content[1] < states.cuts.places[states.chosen[-1]] else 1.0

    def _has_changed(self) -> bool:
        """Return whether a binomial schedule for the contents in front of where the sweep is, with
        as much room, has other repetitions than before."""
        steps, front = len(self.graph.steps), self.components.front
        behind = max(1, self.offered * front // max(1, steps))
        room = max(1, len(self._serials))
        behind_then, room_then = self._known_for
        if 16 * abs(behind - behind_then) < behind_then and 16 * abs(room - room_then) < room_then:
            return False
        self._known_for = behind, room
        before, self._repetitions = self._repetitions, repetitions(behind, room)
        return before != self._repetitions
