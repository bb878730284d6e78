"""Cuts of a program that are held, whole, to run launches again from."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush

from mlirad.ad.budget.cuts import Cuts
from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.heuristics import Candidate, balanced
from mlirad.ad.checkpoint.schedule import repetitions


class HeldCuts:
    """Chosen cuts, and their contents; where these are too many bytes, the cut goes that is of the
    least use, as contents of a chain do (`heuristics.balanced`): what would run again for want of
    it, over its bytes and a power of its age.

    Scores are kept in a heap as they were when they were last computed; those that have grown since
    are seen to when their turn comes.
    """

    def __init__(self, graph: Graph, cuts: Cuts) -> None:
        self.graph, self.cuts = graph, cuts
        self.chosen: list[int] = []  # cuts, ascending
        self.contents: dict[Content, int] = {}  # with how many of the chosen they lie across
        self.bytes = 0
        self.released: list[Content] = []  # that are held no more
        self._costs = [0.0]  # of the launches in front of one
        self._serials: dict[int, int] = {}  # by chosen cut, of the entry that counts
        self._serial = 0
        self._heap: list[tuple[float, int, int]] = []
        self._front = self._known_at = 0
        self._repetitions = 1

    def last(self, front: int) -> int:
        """The last chosen cut in front of a launch; -1 where there is none."""
        at = bisect_left(self.chosen, self.cuts.before(front))
        return self.chosen[at - 1] if at else -1

    def follow(self, number: int) -> None:
        """Follow a launch that has been recorded; what it overwrites may lie across chosen cuts."""
        self._costs.append(self._costs[-1] + self.graph.steps[number].cost)
        if self.chosen:
            for unit in self.graph.steps[number].writes:
                content = unit, self.graph.maker(unit, number)
                for cut in self.cuts.of.get(content, ()):
                    if cut in self._serials:
                        self._count(content)

    def _count(self, content: Content) -> None:
        count = self.contents.get(content, 0)
        if not count:
            self.bytes += self.graph.sizes[content[0]]
        self.contents[content] = count + 1

    def add(self, cut: int) -> None:
        """Choose a cut, which is not chosen."""
        insort(self.chosen, cut)
        for content in self.cuts.across[cut]:
            self._count(content)
        self._serials[cut] = 0
        self._enter_from(bisect_left(self.chosen, cut) - 1, 3)

    def remove(self, cut: int) -> None:
        """Choose a cut no more."""
        del self._serials[cut]
        at = bisect_left(self.chosen, cut)
        del self.chosen[at]
        for content in self.cuts.across[cut]:
            count = self.contents.pop(content) - 1
            if count:
                self.contents[content] = count
            else:
                self.bytes -= self.graph.sizes[content[0]]
                self.released.append(content)
        self._enter_from(at - 1, 2)

    def lose(self, content: Content) -> None:
        """Forget a content that is gone: the cuts that it lies across are no states any more."""
        if content in self.contents:
            for cut in self.cuts.of[content]:
                if cut in self._serials:
                    self.remove(cut)

    def come_to(self, front: int) -> None:
        """Follow the sweep back to a launch."""
        while self.chosen and self.cuts.places[self.chosen[-1]] >= front:
            self.remove(self.chosen[-1])

    def trim(self, limit: int, front: int) -> None:
        """Let cuts go till no more than so many bytes are held, at a launch."""
        if self.bytes <= limit:
            return
        self._front = front
        if 16 * abs(front - self._known_at) >= self._known_at:
            self._renew(limit)
        while self.bytes > limit:
            score, serial, cut = heappop(self._heap)
            if self._serials.get(cut) != serial:
                continue
            if self._score(cut) > score:
                self._enter(cut)
            else:
                self.remove(cut)

    def split(self, unit: int, pieces: Sequence[int]) -> None:
        """Follow a unit that has been taken apart."""
        for maker in self.graph.writers[pieces[0]]:
            count = self.contents.pop((unit, maker), 0)
            if count:
                self.contents.update({(piece, maker): count for piece in pieces})

    def _renew(self, limit: int) -> None:
        """Compute all scores again, with the age that they have now."""
        self._known_at = self._front
        room = max(1, limit * len(self.cuts.places) // max(1, self.cuts.bytes))
        self._repetitions = repetitions(max(1, self.cuts.before(self._front)), room)
        self._heap = []
        self._enter_from(0, len(self.chosen))

    def _enter_from(self, first: int, count: int) -> None:
        for cut in self.chosen[max(0, first) : first + count]:
            self._enter(cut)

    def _enter(self, cut: int) -> None:
        self._serial += 1
        self._serials[cut] = self._serial
        heappush(self._heap, (self._score(cut), self._serial, cut))

    def _score(self, cut: int) -> float:
        at, places = bisect_left(self.chosen, cut), self.cuts.places
        begin = places[self.chosen[at - 1]] if at else 0
        end = max(places[cut], self._front)
        if at + 1 < len(self.chosen):
            end = min(end, places[self.chosen[at + 1]])
        cost = self._costs[end] - self._costs[begin]
        sizes = self.graph.sizes
        alone = sum([sizes[c[0]] for c in self.cuts.across[cut] if self.contents[c] == 1])
        age = max(1, self._front - places[cut])
        return balanced(Candidate(max(1, alone), cost, cost, age, self._repetitions))
