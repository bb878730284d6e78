"""Large blocks of the host's memory that are used over and over: their pages are there."""

from __future__ import annotations

from threading import RLock
from weakref import finalize

import numpy as np

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.memory.values import Values

_LEAST, _IDLE = 1 << 20, 1 << 28  # bytes


class Blocks:
    """Blocks that nobody can reach any more are lent again, the last ones first."""

    def __init__(self) -> None:
        self._idle: list[Values] = []
        self._turn = free_in_forks(RLock())  # what is collected may give back in a turn

    def take(self, size: int) -> Values:
        """Return uninitialized bytes that live as long as an array of them."""
        if size < _LEAST:
            return np.empty(size, np.uint8)
        memory = self._pop(size)
        if memory is None:
            memory = np.empty(size, np.uint8)
        # of another type than an array, or parts would only keep the memory itself alive
        lent: Values = np.frombuffer(memory.data, np.uint8)
        finalize(lent, self._give_back, memory).atexit = False
        return lent

    def _pop(self, size: int) -> Values | None:
        with self._turn:
            for position in reversed(range(len(self._idle))):
                if self._idle[position].nbytes == size:
                    return self._idle.pop(position)
        return None

    def _give_back(self, memory: Values) -> None:
        with self._turn:
            self._idle.append(memory)
            while sum(block.nbytes for block in self._idle) > _IDLE:
                self._idle.pop(0)
