"""Copies of the memory that makes the state of a time loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.memory import Elements, Kept


class States:
    """Copies of some arrays, by the number of the state; what is forgotten gives its memory to the
    next."""

    def __init__(self, arrays: Sequence[Elements], capacity: Capacity) -> None:
        self._capacity = capacity
        self.arrays = list(arrays)
        self.state_bytes = sum(elements.copy_bytes() for elements in self.arrays)  # of one copy
        self.kept: dict[int, list[Kept]] = {}
        self.spare: list[list[Kept]] = []

    @property
    def copies(self) -> int:
        """Count the copies that have memory now."""
        return len(self.kept) + len(self.spare)

    def keep(self, state: int) -> None:
        """Copy memory, which is in a state. Raises TaichiMemoryError where there is no room for
        it."""
        copies = self.spare.pop() if self.spare else list(map(self._room, self.arrays))
        for copy in copies:
            copy.renew()
        self.kept[state] = copies

    def _room(self, elements: Elements) -> Kept:
        room = elements.room()
        self._capacity.lend(
            room,
            "a snapshot of the state of a checkpointed loop, in addition to "
            f"{len(self.kept)} others,",
        )
        return room

    def restore(self, state: int) -> None:
        """Make memory what it was in a kept state."""
        for copy in self.kept[state]:
            copy.restore()

    def forget(self, states: Iterable[int]) -> None:
        """Let go of states."""
        for state in list(states):
            self.spare.append(self.kept.pop(state))
