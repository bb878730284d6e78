"""Copies that are to be put back."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.runtime.boxes import CoveredBoxes, KnownBox
from mlirad.runtime.memory.deferred_writes.pending import NOTHING, Pending
from mlirad.runtime.memory.values import Values


class Copies:
    """Copies of boxes, in the order of rows. They never change: a program that overwrites the same
    boxes again has nothing to compare."""

    __slots__ = ("covered", "pending", "values")

    def __init__(self, pending: Pending, values: Mapping[KnownBox, Values]) -> None:
        self.pending, self.values = pending, {w.box: values[w.box] for w in pending.writes}
        self.covered = CoveredBoxes()
        for box in self.values:
            self.covered.add(box)


NO_COPIES = Copies(NOTHING, {})
