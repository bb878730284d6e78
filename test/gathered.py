"""Every launch on a GPU by a graph, as soon as there is one: `pytest --arch=cuda --stub -p
gathered` tells whether anything sees memory before the launches that it has asked for."""

from __future__ import annotations

from typing import Any

from mlirad.runtime.cuda.functions import Functions
from mlirad.runtime.cuda.sequences import sequences
from mlirad.runtime.cuda.sequences.queue import State


class _Everything(set[int]):
    """A set that has all."""

    def __contains__(self, key: object) -> bool:
        return True


def pytest_configure(config: Any) -> None:
    """From the first launch on."""
    begin = sequences.Sequences.__init__

    def gather(self: sequences.Sequences, functions: Functions) -> None:
        begin(self, functions)
        self._seen, self._open = _Everything(), 1
        self._next = self.queue.state = State.GATHERED

    sequences.LEAST = 1
    sequences.Sequences.__init__ = gather  # type: ignore[method-assign]
