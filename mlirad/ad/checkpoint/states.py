"""Copies of the memory that makes the state of a time loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mlirad.runtime.capacity import Capacity

Array = np.ndarray[Any, Any]


class States:
    """Copies of some arrays, by the number of the state; what is forgotten gives its memory to the
    next."""

    def __init__(self, views: Sequence[Array], capacity: Capacity) -> None:
        self._capacity = capacity
        self.views = list(views)
        self.state_bytes = sum(view.nbytes for view in self.views)  # of one copy
        self.kept: dict[int, list[Array]] = {}
        self.spare: list[list[Array]] = []

    @property
    def copies(self) -> int:
        """How many copies have memory now."""
        return len(self.kept) + len(self.spare)

    def keep(self, state: int) -> None:
        """Copy memory, which is in a state. Raises TaichiMemoryError where there is no room for
        it."""
        buffers = self.spare.pop() if self.spare else [self._room(view) for view in self.views]
        for buffer, view in zip(buffers, self.views):
            np.copyto(buffer, view)
        self.kept[state] = buffers

    def _room(self, view: Array) -> Array:
        room: Array = np.empty(view.shape, view.dtype)
        self._capacity.lend(
            room, f"a snapshot of the state of a checkpointed loop, beside {len(self.kept)} others,"
        )
        return room

    def restore(self, state: int) -> None:
        """Make memory what it was in a kept state."""
        for buffer, view in zip(self.kept[state], self.views):
            np.copyto(view, buffer)

    def forget(self, states: Iterable[int]) -> None:
        """Let go of states."""
        for state in list(states):
            self.spare.append(self.kept.pop(state))
