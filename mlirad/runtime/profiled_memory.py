"""Copies that tapes keep, timed where a program times its launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import perf_counter

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Arena, Elements, Kept
from mlirad.runtime.profile import Profile

KEPT, GIVEN_BACK = "kept for derivatives", "given back to memory"


class ProfiledArena(Arena):
    """An arena whose copies are counted in a profile."""

    def __init__(self, arena: Arena, profile: Profile) -> None:
        self._arena, self.profile = arena, profile

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        """See `Arena.keep`."""
        begun = perf_counter()
        found = self._arena.keep(elements, box, name)
        self.profile.note(KEPT, 1000 * (perf_counter() - begun))
        return ProfiledKept(found, self.profile)


class ProfiledKept(Kept):
    """A copy whose ways to and from memory are counted."""

    __slots__ = ("_kept", "_profile")

    def __init__(self, kept: Kept, profile: Profile) -> None:
        self._kept, self._profile, self.nbytes = kept, profile, kept.nbytes

    def _timed(self, name: str, move: Callable[[], None]) -> None:
        begun = perf_counter()
        move()
        self._profile.note(name, 1000 * (perf_counter() - begun))

    @property
    def place(self) -> Hashable:
        """See `Kept.place`."""
        return self._kept.place

    def renew(self) -> None:
        """See `Kept.renew`."""
        self._timed(KEPT, self._kept.renew)

    def restore(self) -> None:
        """See `Kept.restore`."""
        self._timed(GIVEN_BACK, self._kept.restore)

    def exchange(self) -> None:
        """See `Kept.exchange`."""
        self._timed(GIVEN_BACK, self._kept.exchange)

    def add(self) -> None:
        """See `Kept.add`."""
        self._timed(GIVEN_BACK, self._kept.add)

    def differs(self) -> bool:
        """See `Kept.differs`."""
        return self._kept.differs()

    def present(self, arena: Arena, name: str) -> Kept:
        """See `Kept.present`."""
        return self._kept.present(arena, name)
