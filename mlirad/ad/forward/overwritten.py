"""What a program overwrites of fields, as it was before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.runtime.boxes import Box, CoveredBoxes, within_shape
from mlirad.runtime.footprints import Footprint
from mlirad.runtime.memory.memory import Elements, Kept
from mlirad.runtime.program import Program


class Overwritten:
    """Elements of fields from before the first launch, or write from Python, that changes them,
    and which random numbers came next; `restore` puts them back.

    Putting them back raises TaichiRuntimeError where another thread changed memory meanwhile.
    """

    def __init__(self, program: Program) -> None:
        self._program, self._draws = program, program.random.launches
        program.threads.watch(self)
        self._others_changes = program.threads.others_changes()
        self._arena = program.arena()
        self._covered: dict[str, CoveredBoxes] = {}
        self._kept: dict[Elements, list[tuple[Box, Kept]]] = {}

    def before_launch(self, written: Sequence[Footprint], values: Sequence[Any]) -> None:
        """A launch is about to write."""
        for footprint in written:
            if isinstance(footprint.array, str):
                elements = self._program.fields[footprint.array].elements
                self.before_write(footprint.array, elements, footprint.box(values))

    def before_write(self, symbol: str, elements: Elements, box: Box) -> None:
        """A box of a field is about to be written."""
        covered = self._covered.setdefault(symbol, CoveredBoxes())
        known = within_shape(box, elements.shape)  # boxes of known ends that line up are one
        if not covered.holds(known) and not self._program.derivatives.are_derivatives(symbol):
            covered.add(known)
            kept = elements.copy_waiting(known) or self._arena.keep(elements, known, f"'{symbol}'")
            self._kept.setdefault(elements, []).append((known, kept))

    def restore(self) -> None:
        """Make memory what it was; the next launches draw the same random numbers."""
        self._program.threads.check_alone_since(self._others_changes)
        self._program.random.rewind(self._draws)
        for elements, copies in self._kept.items():
            elements.waiting.put_back(copies, self._program.clearing)
