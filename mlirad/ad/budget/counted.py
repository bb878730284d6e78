"""What a tape would keep without a budget."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from mlirad.ad.tape.versions import Key, Version, Versions
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class CountedVersions(Versions):
    """Keeps nothing, and tells `count` the bytes that would be."""

    def __init__(self, program: Program, rules: str, count: Callable[[int], None]) -> None:
        super().__init__(program, rules)
        self._count = count

    def _keep(
        self, elements: Elements, box: Box, key: Key, read: str, written: str, redone: bool
    ) -> list[Version]:
        """Count a box."""
        extents = elements.shape
        if len(box) == len(extents):
            extents = tuple(
                max(0, min(e - 1 if high is None else high, e - 1) - max(0, low or 0) + 1)
                for (low, high), e in zip(box, extents)
            )
        self._count(elements.dtype.itemsize * prod(extents))
        return []
