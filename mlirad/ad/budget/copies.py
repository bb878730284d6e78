"""The program's memory under a plan: copies of units, launches that run again, reverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol
from weakref import finalize

from mlirad.ad.budget.graph import Content
from mlirad.ad.budget.units import Units
from mlirad.runtime.memory.memory import Kept
from mlirad.runtime.program import Program


class Repeated(Protocol):
    """Something recorded that can be done again, and reversed."""

    def repeat(self) -> None:
        """Do it again on the program's memory."""

    def reverse(self) -> None:
        """Run its reverse."""


class Copies:
    """Does as a planner says, and counts the bytes that are held."""

    def __init__(self, program: Program) -> None:
        self._arena = program.executor.memory.arena(program.capacity, apart=True)
        self._kept: dict[Content, Kept] = {}
        self.units: Units
        self.repeats: dict[int, Callable[[], None]] = {}
        self.reverses: dict[int, Callable[[], None]] = {}
        self.held = self.peak = 0
        self.seconds: dict[str, float] = {"launches again": 0.0, "copies": 0.0, "reverses": 0.0}

    def keep(self, content: Content) -> None:
        """Copy what a unit holds now."""
        begun = perf_counter()
        parts, span = self.units.places[content[0]]
        kept = self._arena.keep(parts.elements, span, f"'{parts.key}'")
        self.held += kept.nbytes
        self.peak = max(self.peak, self.held)
        finalize(kept, self._given_back, kept.nbytes).atexit = False
        self._kept[content] = kept
        self.seconds["copies"] += perf_counter() - begun

    def _given_back(self, size: int) -> None:
        self.held -= size

    def drop(self, content: Content) -> None:
        """Let go of a copy."""
        del self._kept[content]

    def put(self, content: Content) -> None:
        """Let a unit hold what was copied."""
        begun = perf_counter()
        self._kept[content].restore()
        self.seconds["copies"] += perf_counter() - begun

    def run(self, step: int) -> None:
        """Launch again."""
        begun = perf_counter()
        self.repeats[step]()
        self.seconds["launches again"] += perf_counter() - begun

    def reverse(self, step: int) -> None:
        """Run a reverse."""
        found = self.reverses.get(step)
        if found is not None:
            begun = perf_counter()
            found()
            self.seconds["reverses"] += perf_counter() - begun

    def take_apart(self, contents: Sequence[Content], parts: Sequence[int]) -> None:
        """Copies of a unit become copies of its parts, one after the other; there is room for one
        of them more."""
        for content in contents:
            whole = self._kept.pop(content)
            whole.exchange()
            for part in parts:
                self.keep((part, content[1]))
            whole.exchange()
