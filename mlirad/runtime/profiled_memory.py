"""Copies that tapes keep, timed where a program times its launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import perf_counter

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.memory import Arena, Elements, Kept
from mlirad.runtime.profile import Profile

KEPT, GIVEN_BACK = "kept for derivatives", "restored in memory"


class ProfiledArena(Arena):
    """An arena whose copies are counted in a profile."""

    def __init__(self, arena: Arena, profile: Profile) -> None:
        self._arena, self.profile = arena, profile

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        begun = perf_counter()
        copy = self._arena.keep(elements, box, name)
        self.profile.note(KEPT, 1000 * (perf_counter() - begun))
        return ProfiledKept(copy, self.profile)


class ProfiledKept(Kept):
    """A copy whose ways to and from memory are counted."""

    __slots__ = ("_kept", "_profile")

    def __init__(self, copy: Kept, profile: Profile) -> None:
        self._kept, self._profile, self.nbytes = copy, profile, copy.nbytes

    def _time(self, name: str, move: Callable[[], None]) -> None:
        begun = perf_counter()
        move()
        self._profile.note(name, 1000 * (perf_counter() - begun))

    @property
    def complete_array(self) -> Elements | None:
        return self._kept.complete_array

    def move_array(self, backlog: Backlog, *, again: bool) -> bool:
        return self._kept.move_array(backlog, again=again)

    @property
    def place(self) -> Hashable:
        return self._kept.place

    def renew(self) -> None:
        self._time(KEPT, self._kept.renew)

    def restore(self) -> None:
        self._time(GIVEN_BACK, self._kept.restore)

    def exchange(self) -> None:
        self._time(GIVEN_BACK, self._kept.exchange)

    def add(self) -> None:
        self._time(GIVEN_BACK, self._kept.add)

    def differs(self) -> bool:
        return self._kept.differs()

    def present(self, arena: Arena, name: str) -> Kept:
        return self._kept.present(arena, name)
