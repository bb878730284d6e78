"""Copies that one program after another puts back."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.runtime.boxes import CoveredBoxes
from mlirad.runtime.memory.deferred_writes.write import Write


class Copies:
    """Deferred writes of copies to boxes of an array, in the order of rows. They never change: a
    program that overwrites the same boxes again has nothing to compare."""

    __slots__ = ("_own", "covered", "firsts", "writes")

    def __init__(self, writes: Sequence[Write]) -> None:
        self.writes, self.firsts = tuple(writes), tuple([write.first for write in writes])
        self._own = frozenset(map(id, self.writes))
        self.covered = CoveredBoxes()
        for write in writes:
            self.covered.add(write.box)

    def include(self, writes: Sequence[Write]) -> bool:
        """Return whether some writes are among these."""
        return self._own.issuperset(map(id, writes))
