"""Narrow places of a recorded program: positions between launches across which few bytes carry
everything that later launches and reverses use.

What is kept of such a place is a state to begin again from, as of a step of a loop over time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from mlirad.ad.budget.graph import Content, Graph

CHEAPER = 0.8  # a byte that a reverse needs anyway, beside one that only launches read
NEAR, FAR = 0.5, 1.5  # bytes that reverses need between two cuts, over those that lie across


class Cuts:
    """The narrow places, found while the program is recorded, and what lies across each.

    They are as far apart as reverses need about as many bytes in between as lie across. A place is
    looked for when twice the launches to it have been recorded: what lies across is overwritten by
    then. Where the last ones are equally far apart, in front of equal launches, the next one is
    taken to be so, too. What is overwritten later is entered then.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.places: list[int] = []  # a cut lies in front of a launch
        self.across: list[list[Content]] = []  # by cut
        self.of: dict[Content, list[int]] = {}  # the cuts that a content lies across
        self.bytes = 0  # that lie across, of all cuts together
        self.needed_bytes = 0  # that reverses need
        self.needed: list[int] = []  # of these, by the launch that made them
        self._change: list[float] = []  # of the bytes that lie across, behind the last place
        self._recent: list[tuple[Content, int]] = []  # with the launch of the last use
        self._last, self._width, self._try_at = 0, 0.0, 2

    def follow(self, number: int) -> None:
        """Follow a launch that has been recorded; what it overwrites is used no more."""
        self.needed.append(0)
        self._change += [0.0] * (number + 2 - len(self._change))
        while (place := self._next_place()) and place <= number and self._is_like(place):
            self._add(place, self._width)
        for unit in self.graph.steps[number].writes:
            self._close((unit, self.graph.maker(unit, number)))
        while number >= self._try_at:
            self._look(number)

    def before(self, front: int) -> int:
        """Count the cuts in front of a launch."""
        return bisect_left(self.places, front)

    def are_single(self) -> bool:
        """Return whether most are one content, and reverses need nothing else: a chain."""
        few = 2 * len(self.of) < 3 * len(self.places)
        return few and 20 * self.needed_bytes < 21 * self.bytes

    def split(self, unit: int, pieces: Sequence[int]) -> None:
        """Follow a unit that has been taken apart."""
        for maker in self.graph.writers[pieces[0]]:
            cuts = self.of.pop((unit, maker), ())
            for piece in pieces if cuts else ():
                self.of[piece, maker] = list(cuts)
            for cut in cuts:
                self.across[cut].remove((unit, maker))
                self.across[cut] += [(piece, maker) for piece in pieces]
        self._recent = [
            (content, last)
            for (holder, maker), last in self._recent
            for content in [(piece, maker) for piece in (pieces if holder == unit else (holder,))]
        ]

    def _next_place(self) -> int:
        """Return where the next cut is, if they are as far apart as the last ones; 0 if these are
        not."""
        if len(self.places) < 3:
            return 0
        before, middle, last = self.places[-3:]
        return 2 * last - middle if last - middle == middle - before else 0

    def _is_like(self, place: int) -> bool:
        """Return whether a launch does what those behind the last cuts do."""
        step, *steps = (self.graph.steps[number] for number in (place, *self.places[-2:]))
        return all(step.reads == other.reads and step.writes == other.writes for other in steps)

    def _close(self, content: Content) -> None:
        unit, maker = content
        last = self.graph.last_use.get(content)
        if last is None or self.graph.is_source(content):
            return
        size = self.graph.sizes[unit]
        is_needed = content in self.graph.needed_by_reverse
        if is_needed:
            self.needed[maker] += size
            self.needed_bytes += size
        if last == maker:
            return
        for cut in range(self.before(maker + 1), len(self.places)):
            if self.places[cut] > last:
                break
            self._enter(content, cut)
        if last > self._last:
            weight = size * (CHEAPER if is_needed else 1.0)
            self._change[max(maker, self._last) + 1] += weight
            self._change[last + 1] -= weight
            self._recent.append((content, last))

    def _enter(self, content: Content, cut: int) -> None:
        self.across[cut].append(content)
        self.of.setdefault(content, []).append(cut)
        self.bytes += self.graph.sizes[content[0]]

    def _look(self, number: int) -> None:
        """Look for the next place in the first half of what was recorded since the last one."""
        before, width, between = self._last, self._width, 0
        best, place = float("inf"), 0
        for at in range(before + 1, before + (number - before) // 2 + 1):
            width += self._change[at]
            between += self.needed[at - 1]
            if between >= NEAR * width and width < best:
                best, place = width, at
            if between >= FAR * best:
                self._add(place, best)
                self._try_at = max(self._try_at, place + 2)
                return
        self._try_at = number + max(1, (number - before) // 4)

    def _add(self, place: int, width: float) -> None:
        self.places.append(place)
        self.across.append([])
        for content, last in self._recent:
            if content[1] < place <= last:
                self._enter(content, len(self.places) - 1)
        self._recent = [entry for entry in self._recent if entry[1] > place]
        self._last, self._width = place, width
