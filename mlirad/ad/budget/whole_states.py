"""Schedules of whole states, where there is little room: which cuts are held while a program runs,
and which are made on the way back, for launches to run again from (Griewank and Walther, Algorithm
799: revolve, ACM TOMS 26, 2000, for cuts of unequal bytes and costs)."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.ad.budget.graph import Content, Graph
from mlirad.ad.budget.room import Room

MANY = 16  # cuts; of fewer, contents are kept one by one
TIGHT = 1.7  # where room over twice the root of bytes needed times bytes across is below half of it


class States:
    """Holds cuts within the room that is there for what may be given up."""

    def __init__(self, graph: Graph, room: Room) -> None:
        self.graph, self.room, self.cuts, self.held = graph, room, room.cuts, room.held
        self._fixed = 0  # bytes that have to be kept
        self._moved: set[int] = set()  # units that hold something else on the way back

    def follow(self, number: int) -> None:
        """Follow a launch that has been recorded, and is about to run: hold what lies across the
        cuts that it completes."""
        before = len(self.cuts.places)
        self.cuts.follow(number)
        self.held.follow(number)
        for unit in self.graph.steps[number].writes:
            self._count(unit, number)
        if self.is_tight():
            for cut in range(before, len(self.cuts.places)):
                if all(self._is_kept(content, number) for content in self.cuts.across[cut]):
                    self.held.add(cut)
            self.held.trim(self.share(), number)
            self.room.release_held()

    def _count(self, unit: int, number: int) -> None:
        graph, size = self.graph, self.graph.sizes[unit]
        content = unit, graph.maker(unit, number)
        is_fixed = graph.is_source(content) and graph.is_wanted(content, number)
        if is_fixed:
            self._fixed += size
        if unit not in self._moved and (is_fixed or len(graph.writers[unit]) > 1):
            self._moved.add(unit)
            self._fixed += size

    def _is_kept(self, content: Content, number: int) -> bool:
        return content in self.room or self.graph.maker(content[0], number) == content[1]

    def split(self, unit: int, pieces: list[int]) -> None:
        """Follow a unit that has been taken apart."""
        self.cuts.split(unit, pieces)
        self.held.split(unit, pieces)
        if unit in self._moved:
            self._moved.update(pieces)

    def share(self) -> int:
        """The bytes for what may be given up."""
        return max(0, self.room.limit() - self._fixed)

    def is_tight(self) -> bool:
        """Return whether there is not room enough for a cut in front of each of some parts of the
        program, and for what reverses need of one part: in so much, most launches run again
        once."""
        cuts = self.cuts
        if len(cuts.places) < MANY or cuts.are_single():
            return False
        return self.share() ** 2 < TIGHT**2 * cuts.needed_bytes * cuts.bytes / len(cuts.places)

    def ahead(
        self, first: int, time: int, is_there: Callable[[Content], bool]
    ) -> dict[Content, None]:
        """Return what to make, too, when launches from one on are run again for the reverse in
        front of a time, as reverses before need it: what lies across cuts, as many as there is
        space for; what is needed behind the last one."""
        self.held.come_to(time)
        last = self.held.last(time)
        begin = self.cuts.places[last] if last >= 0 else 0
        contents: dict[Content, None] = {}
        if first >= begin and not self._fits(begin, time):
            new = range(last + 1, self.cuts.before(time))
            if not new or first >= self.cuts.places[new[-1]]:
                return contents
            for cut in new:
                self.held.add(cut)
            self.held.trim(self.share(), time)
            for cut in self.held.chosen:
                if cut > last:
                    contents.update(dict.fromkeys(self.cuts.across[cut]))
                    begin = self.cuts.places[cut]
        self.room.release_held()
        if first >= begin or contents:
            contents.update(self._needed_contents(begin, time))
        return {content: None for content in contents if not is_there(content)}

    def _needed_contents(self, begin: int, time: int) -> dict[Content, None]:
        if not self._fits(begin, time):
            return {}
        steps = self.graph.steps
        contents = [(unit, step) for step in range(begin, time) for unit in steps[step].writes]
        return {content: None for content in contents if content in self.graph.needed_by_reverse}

    def _fits(self, begin: int, time: int) -> bool:
        """Return whether there is room for all that reverses need of some launches."""
        return sum(self.cuts.needed[begin:time]) <= self.share() - self.held.bytes
