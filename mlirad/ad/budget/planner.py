"""Any program within a budget of memory: what is given up, and made again when a reverse needs it.

Dynamic tensor rematerialization (Kirisame et al., ICLR 2021) for programs that overwrite memory.
Contents are copied where a launch overwrites them, and given up where there is no room. A reverse
that needs one that was given up has the launches run again that it is made of, in their order, on
the program's memory, from what is kept. What a reverse displaces of what the program left is kept
till its end.

What cannot be made again is kept: what was in memory at first, and what launches made that cannot
be repeated. With room for that, and for what the program left, there is always a way: everything
from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from mlirad.ad.budget.episodes import Episode, closure, in_the_way, last_uses
from mlirad.ad.budget.graph import ROOT, Content, Graph, Step
from mlirad.ad.budget.heuristics import Heuristic, balanced
from mlirad.ad.budget.room import Machine, NoRoomError, Room
from mlirad.ad.budget.whole_states import States

UNKNOWN = -2  # what a unit holds after a launch that had not found what it reads


class Planner:
    """Keeps, gives up and makes again contents of a program's memory."""

    def __init__(
        self,
        machine: Machine,
        budget: Callable[[], int],
        heuristic: Heuristic = balanced,
        graph: Graph | None = None,
    ) -> None:
        self.graph = Graph() if graph is None else graph
        self.machine = machine
        self.room = Room(self.graph, machine, budget, heuristic)
        self.states = States(self.graph, self.room)
        self.repeated: dict[int, int] = {}  # how often each launch ran again
        self.is_over = False  # nothing is kept: what has to be did not fit

    # While the program runs.

    def record(self, step: Step) -> int:
        """Record a launch that is about to run; its number. Keeps what it overwrites."""
        number = self.graph.add(step)
        self.follow(number)
        return number

    def follow(self, number: int) -> None:
        """Keep what a launch of the graph is about to overwrite."""
        self.room.come_to(number + 1)
        if self.is_over:
            return
        try:
            self.states.follow(number)
            for unit in self.graph.steps[number].writes:
                self._overwrite(unit, number)
        except NoRoomError:
            self._give_up()

    def _give_up(self) -> None:
        self.is_over = True
        self.room.clear()

    def split(
        self, unit: int, sizes: Sequence[int], place: Callable[[Sequence[int]], None]
    ) -> list[int]:
        """Take a unit apart, while the program runs: the parts, whose places are told first."""
        pieces = self.graph.split(unit, sizes)
        place(pieces)
        try:
            if not self.is_over:
                self.states.split(unit, pieces)
                self.room.split(unit, pieces)
        except NoRoomError:
            self._give_up()
        return pieces

    def _overwrite(self, unit: int, number: int) -> None:
        content = unit, self.graph.maker(unit, number)
        if content in self.room:
            return
        if self.graph.is_source(content):
            if self.graph.is_wanted(content, number):
                self.room.fix(content)
        elif content in self.graph.first_use:
            self.room.loose.offered += 1
            self.room.offer(content)
        else:
            self.room.forget(content)

    # In reverse.

    def reverse(self) -> None:
        """Run all reverses, last first; memory is afterwards what the program left.

        Raises NoRoomError, before the first one runs, where what has to be kept does not fit; an
        open room has the least that does.
        """
        is_open, self.room.is_open = self.room.is_open, False
        if is_open:
            self.room.least = self.graph.least()
        try:
            self._sweep()
        finally:
            self.room.is_open = is_open

    def _sweep(self) -> None:
        steps = len(self.graph.steps)
        if self.is_over or not self.room.can_fix(self.graph.reserve()):
            if not self.graph.is_at_hand():
                raise NoRoomError
            self.room.clear()
        sweep = Sweep(self)
        try:
            for number in reversed(range(steps)):
                sweep.bring(self.graph.needed_contents(number), number + 1)
                self.machine.reverse(number)
                self.room.come_to(number)
        finally:
            sweep.end()
            self.room.come_to(steps)


class Sweep:
    """Memory on its way back: what each unit holds, and what the program left in it."""

    def __init__(self, planner: Planner) -> None:
        self.planner, self.graph, self.room = planner, planner.graph, planner.room
        self.machine = planner.machine
        self._moved: dict[int, int] = {}  # units that hold something else than at the end, and what
        self._left: list[Content] = []
        self._lent: list[Content] = []  # kept for the present reverse
        self._expected: set[Content] = set()  # that launches are about to displace, to be kept
        self._last_uses: dict[int, Content] = {}  # by unit; see `last_uses`

    def holds(self, unit: int) -> int:
        """The launch that made what a unit holds."""
        maker = self._moved.get(unit)
        return self.graph.last(unit) if maker is None else maker

    def end(self) -> None:
        """Let memory hold what it held at first."""
        for content in self._left:
            if self.holds(content[0]) != content[1]:
                self.machine.put(content)
            self.room.release(content)
        self._moved, self._left = {}, []
        self._leave()

    def bring(self, targets: Sequence[Content], time: int) -> None:
        """Let memory hold contents that it held at a time."""
        if all(self.holds(unit) == maker for unit, maker in targets):
            return
        episode = self._find([*targets, *self._ahead(targets, time)], time)
        self.room.loose.lock(episode.copies)
        self.room.components.renew(episode.steps)
        for number in episode.steps:
            self._run(number, episode.targets[number], time)
        for content in targets:
            self._place(content, time)
        self._leave()

    def _ahead(self, targets: Sequence[Content], time: int) -> list[Content]:
        """Return what to make with contents, if there is little space, as earlier reverses need
        it."""
        states, use = self.planner.states, self.graph.first_use
        steps = self._closure(targets, ()).steps if states.is_tight() else []

        def is_there(content: Content) -> bool:
            is_past = use[content] >= time or content in targets
            return is_past or content in self.room or self.holds(content[0]) == content[1]

        return [*states.ahead(steps[0], time, is_there)] if steps else []

    def _leave(self) -> None:
        """An episode is over."""
        self.room.loose.unlock()
        for content in self._lent:
            self.room.release(content)
        self._lent, self._expected, self._last_uses, self.room.reserved = [], set(), {}, 0

    def _find(self, targets: Sequence[Content], time: int) -> Episode:
        """Return how to bring contents; those in memory that are in the way are kept, if there is
        space, or made again. There is room for all that has to be kept meanwhile."""
        moved: set[Content] = set()
        while True:
            episode = self._closure(targets, moved)
            late = in_the_way(self.graph, self.holds, episode)
            if not late:
                expected, self._last_uses = self._to_be_kept(episode, time), {}
                size = sum(self.graph.bytes_of(expected))
                if self.room.free() < size:
                    self._last_uses = last_uses(self.graph, self.room.loose, episode, time)
                    expected = {c for c in expected if c[0] not in self._last_uses}
                    size = sum(self.graph.bytes_of(expected))
                if self.room.has_room(size, episode.copies):
                    self._expected, self.room.reserved = expected, size
                    return episode
            for content in late:
                if content[1] == self.graph.last(content[0]):
                    self._keep_left(content)
                else:
                    moved.add(content)

    def _closure(self, targets: Sequence[Content], moved: Container[Content]) -> Episode:
        return closure(self.graph, self.room, self.holds, targets, moved)

    def _to_be_kept(self, episode: Episode, time: int) -> set[Content]:
        """Return what the program left and launches displace, and what the reverse behind the last
        one needs of before it."""
        units = {unit for unit, maker in episode.copies if self.holds(unit) != maker}
        for number in episode.steps:
            step = self.graph.steps[number]
            units |= {u for u in step.writes if self.holds(u) != number or not step.is_stable(u)}
        contents = {
            (unit, self.holds(unit)) for unit in units if self.holds(unit) == self.graph.last(unit)
        }
        if episode.steps and episode.steps[-1] == time - 1:
            contents.update(self.graph.lent(time - 1))
        return {content for content in contents if content not in self.room}

    def _run(self, number: int, targets: Sequence[Content], time: int) -> None:
        """Launch again, with memory as it was."""
        step = self.graph.steps[number]
        units = {unit for unit, _ in targets}
        for content in self.graph.inputs(number, units):
            self._place(content, time)
        if number == time - 1:
            self._keep_before(number, time)
        moved = {
            unit: number if self._is_right(unit, number, units) else UNKNOWN
            for unit in step.writes
            if not (self.holds(unit) == number and step.is_stable(unit))
        }
        for unit in moved:
            self._displace(unit, time)
        self.planner.repeated[number] = self.planner.repeated.get(number, 0) + 1
        self._moved.update(dict.fromkeys(moved, UNKNOWN))  # till it is through
        self.machine.run(number)
        self._moved.update(moved)

    def _keep_before(self, number: int, time: int) -> None:
        """The launch whose reverse is about to run runs before it: keep what the reverse needs of
        before."""
        for content in self.graph.lent(number):
            self._place(content, time)
            if content in self.room:
                self.room.loose.lock([content])
            else:
                self._lent.append(content)
                self._fix(content)

    def _is_right(self, unit: int, number: int, units: set[int]) -> bool:
        """Return whether a launch makes all of what it made in a unit when it ran first."""
        if unit in units or not self.graph.steps[number].keeps(unit):
            return True
        return self.holds(unit) == self.graph.maker(unit, number)

    def _place(self, content: Content, time: int) -> None:
        unit, maker = content
        if self.holds(unit) == maker:
            return
        if self._last_uses.get(unit) == content and self._exchange(content, time):
            return
        self._displace(unit, time)
        self._moved[unit] = UNKNOWN  # till it is through
        self.machine.put(content)
        self._moved[unit] = maker

    def _exchange(self, content: Content, time: int) -> bool:
        """Let the copy of a content that is used for the last time hold what the unit did, if that
        is to be kept; whether it is."""
        unit, maker = content
        del self._last_uses[unit]
        other = unit, self.holds(unit)
        is_left = other[1] == self.graph.last(unit)
        is_used = self.graph.first_use.get(other, time) < time and other[1] != ROOT
        if other[1] == UNKNOWN or other in self.room or not (is_left or is_used):
            return False
        self._moved[unit] = UNKNOWN  # till it is through
        self.room.exchange(content, other, is_fixed=is_left)
        self._moved[unit] = maker
        if is_left:
            self._left.append(other)
        return True

    def _displace(self, unit: int, time: int) -> None:
        """Something else is about to be in a unit."""
        content = unit, self.holds(unit)
        if content[1] == UNKNOWN or content in self.room:
            return
        if content[1] == self.graph.last(unit):
            self._keep_left(content)
        elif self.graph.first_use.get(content, time) < time and content[1] != ROOT:
            self.room.offer(content)
        else:
            self.room.forget(content)

    def _keep_left(self, content: Content) -> None:
        self._left.append(content)
        self._fix(content)

    def _fix(self, content: Content) -> None:
        if content in self._expected:
            self._expected.remove(content)
            self.room.reserved -= self.graph.sizes[content[0]]
        self.room.fix(content)
