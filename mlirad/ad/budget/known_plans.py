"""Plans of tapes before, which a tape that records the same follows without planning.

A plan depends on nothing but what is recorded and the bytes there are. So what a planner did for
each launch, and for the sweep back, is done again as long as a tape records what one before it did:
as training steps do. Where it comes to record something else, or is broken off, a planner is told
all that was recorded, without doing any of it again, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from mlirad.ad.budget.graph import Content, Step
from mlirad.ad.budget.planner import Planner
from mlirad.ad.budget.room import Machine
from mlirad.runtime.program import Program

PLANS = 4  # of a program
LONGEST = 1_000_000  # actions of a plan that is known

Place = Callable[[Sequence[int]], None]
Event = tuple[str, int, tuple[Any, ...]]  # what a planner is told, within so many bytes


class Turn(msgspec.Struct, frozen=True):
    """An event that a planner was told of, its answer, and what it did: methods of a machine and
    arguments."""

    event: Event
    answer: Any
    actions: Sequence[tuple[str, tuple[Any, ...]]]


Plan = Sequence[Turn]


class KnownPlans:
    """The plans of a program."""

    _of: WeakKeyDictionary[Program, KnownPlans] = WeakKeyDictionary()

    def __init__(self) -> None:
        self._plans: tuple[Plan, ...] = ()  # the one used last at the end

    @staticmethod
    def of_program(program: Program) -> KnownPlans:
        """Return the plans of a program, which end with it."""
        return KnownPlans._of.setdefault(program, KnownPlans())

    def find(self, begin: Plan, event: Event) -> Plan | None:
        """A plan that begins with another, and goes on with an event."""
        at = len(begin)
        for plan in reversed(self._plans):
            goes_on = len(plan) > at and plan[at].event == event
            if goes_on and all(turn.event == other.event for turn, other in zip(begin, plan)):
                return plan
        return None

    def note(self, plan: Plan) -> None:
        """A plan has been followed to its end; those that it begins with are not needed."""
        if sum(len(turn.actions) for turn in plan) <= LONGEST:
            plans = [old for old in self._plans if old is not plan and not _begins(plan, old)]
            self._plans = (*plans[1 - PLANS :], plan)


def _begins(plan: Plan, other: Plan) -> bool:
    return len(other) <= len(plan) and all(a is b for a, b in zip(plan, other))


class NotingMachine:
    """A machine that notes what it does; what it is told first has been `done` before, and then
    there is perhaps a failure."""

    def __init__(self, machine: Machine, done: int, failure: BaseException | None) -> None:
        self.machine, self._tell_planner, self._failure = machine, done, failure
        self.actions: list[tuple[str, tuple[Any, ...]]] = []

    def _do(self, name: str, *arguments: Any) -> None:
        if self._tell_planner:
            self._tell_planner -= 1
            return
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self.actions.append((name, arguments))
        getattr(self.machine, name)(*arguments)

    def keep(self, content: Content) -> None:
        """Copy what a unit holds now."""
        self._do("keep", content)

    def drop(self, content: Content) -> None:
        """Let go of a copy."""
        self._do("drop", content)

    def put(self, content: Content) -> None:
        """Let a unit hold what was copied."""
        self._do("put", content)

    def exchange(self, content: Content, other: Content) -> None:
        """Let a unit hold what was copied, and the copy what it held."""
        self._do("exchange", content, other)

    def run(self, step: int) -> None:
        """Launch again."""
        self._do("run", step)

    def reverse(self, step: int) -> None:
        """Run a reverse."""
        self._do("reverse", step)

    def take_apart(self, contents: Sequence[Content], pieces: Sequence[int]) -> None:
        """Copies of a unit become copies of its parts."""
        self._do("take_apart", tuple(contents), tuple(pieces))


class PlanFollower:
    """A planner that is asked only if no plan is known for what the program does."""

    def __init__(self, machine: Machine, budget: Callable[[], int], plans: KnownPlans) -> None:
        self.steps = 0
        self.is_open = False  # as `Room` has it, while the program runs
        self._machine, self._budget, self._known = machine, budget, plans
        self._plan: Plan = ()  # that is followed
        self._at = 0  # turns of it
        self._own: list[Turn] = []  # those before, and then what the planner did
        self._planner: Planner | None = None
        self._noted: NotingMachine
        self._bytes = 0
        self._is_broken = False

    @property
    def planner(self) -> Planner:
        """The planner, which knows all that was recorded."""
        if self._planner is None:
            self._tell(self._at, None)
        assert self._planner is not None
        return self._planner

    def unit(self, size: int) -> int:
        """A new unit."""
        return int(self._turn(("unit", 0, (size,))))

    def record(self, step: Step) -> int:
        """Record a launch that is about to run; its number."""
        self.steps += 1
        return int(self._turn(("record", self._budget(), (step,))))

    def split(self, unit: int, sizes: Sequence[int], place: Place) -> list[int]:
        """Take a unit apart: the parts, whose places are told first."""
        return list(self._turn(("split", self._budget(), (unit, tuple(sizes))), place))

    def reverse(self) -> None:
        """Run all reverses. Raises NoRoomError."""
        self._turn(("reverse", self._budget(), ()))
        if self._planner is None:
            self._known.note(self._plan)
        elif not self._is_broken:
            self._known.note(tuple(self._own))

    def _turn(self, event: Event, place: Place | None = None) -> Any:
        if self._planner is None:
            turn = self._next(event)
            if turn is not None:
                if place is not None:
                    place(turn.answer)
                self._perform(turn)
                return turn.answer
            self._tell(self._at, None)
        return self._ask(event, place)

    def _next(self, event: Event) -> Turn | None:
        at = self._at
        if at == len(self._plan) or self._plan[at].event != event:
            plan = self._known.find(self._plan[:at], event)
            if plan is None:
                return None
            self._plan = plan
        return self._plan[at]

    def _perform(self, turn: Turn) -> None:
        done, machine = 0, self._machine
        try:
            for name, arguments in turn.actions:
                getattr(machine, name)(*arguments)
                done += 1
        except BaseException as failure:
            self._tell(self._at, failure, done)
            self._ask(turn.event, None)  # which fails, and puts memory in order
            raise
        self._at += 1

    def _ask(self, event: Event, place: Place | None) -> Any:
        """Let the planner do it."""
        name, self._bytes, arguments = event
        planner, self._noted.actions = self.planner, []
        self._is_broken, was_broken = True, self._is_broken
        answer = _tell_planner(planner, name, arguments, place)
        self._is_broken = was_broken
        self._own.append(Turn(event, answer, self._noted.actions))
        return answer

    def _tell(self, turns: int, failure: BaseException | None, done: int = 0) -> None:
        """Tell a planner what was recorded, of which everything has been done, and so much of what
        comes next, which failed."""
        self._own = [*self._plan[:turns]]
        done += sum(len(turn.actions) for turn in self._own)
        self._noted = NotingMachine(self._machine, done, failure)
        planner = Planner(self._noted, lambda: self._bytes)
        planner.room.is_open = self.is_open
        for turn in self._own:
            name, self._bytes, arguments = turn.event
            answer = _tell_planner(planner, name, arguments, None)
            assert answer == turn.answer
        self._planner = planner


def _tell_planner(
    planner: Planner, name: str, arguments: Sequence[Any], place: Place | None
) -> Any:
    if name == "unit":
        return planner.graph.unit(*arguments)
    if name == "split":
        unit, sizes = arguments
        return tuple(planner.split(unit, sizes, place or _nowhere))
    if name == "record":
        return planner.record(*arguments)
    return planner.reverse()


def _nowhere(units: Sequence[int]) -> None:
    pass
