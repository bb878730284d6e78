"""What a tape would keep without a budget."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.ad.budget.units import size_of, span_of
from mlirad.ad.recording.versions import Key, Version, Versions
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import Program


class CountedVersions(Versions):
    """Keeps nothing, and tells `count` the bytes that would be."""

    def __init__(
        self, program: Program, rules: str, count: Callable[[int], None], tangents: int
    ) -> None:
        super().__init__(program, rules)
        self._count, self._tangents = count, tangents

    def _keep(
        self, elements: Elements, box: Box, key: Key, read: str, written: str, redone: bool
    ) -> list[Version]:
        span = span_of(elements, box)
        if span is not None:
            self._count(size_of(elements, span, self._tangents))
        return []
