"""The program's memory under a plan: copies of units, launches that run again, reverses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from weakref import finalize

from mlirad.ad.budget.graph import Content
from mlirad.ad.budget.units import Units
from mlirad.ad.recording.known_states import Key
from mlirad.runtime.memory.memory import Elements, Kept
from mlirad.runtime.program import Program


class Copies:
    """Does as a planner says, and counts the bytes that are held."""

    def __init__(
        self, program: Program, beside: Callable[[Key], Sequence[Elements]] = lambda key: ()
    ) -> None:
        self._beside = beside  # the tangents of an array, kept with it
        self._arena = program.arena(apart=True)
        self._kept: dict[Content, list[Kept]] = {}
        self._spare: dict[int, list[Kept]] = {}  # of a unit, let go since the last copy was made
        self.units: Units
        self.repeats: dict[int, Callable[[], None]] = {}
        self.reverses: dict[int, list[Callable[[], None]]] = {}
        self.held = self.peak = 0
        self.of_steps: dict[str, dict[int, float]] = {"launches again": {}, "reverses": {}}
        self.seconds: dict[str, float] = {"launches again": 0.0, "copies": 0.0, "reverses": 0.0}

    def keep(self, content: Content) -> None:
        """Copy what a unit holds now."""
        begun = perf_counter()
        array, span = self.units.places[content[0]]
        arrays = (array.elements, *self._beside(array.key))
        copies = self._spare.pop(content[0], [])
        self._spare.clear()
        if len(copies) == len(arrays):
            for copy in copies:
                copy.renew()
        else:
            del copies
            copies = [self._arena.keep(elements, span, f"'{array.key}'") for elements in arrays]
            for copy in copies:
                self.held += copy.nbytes
                finalize(copy, self._given_back, copy.nbytes).atexit = False
            self.peak = max(self.peak, self.held)
        self._kept[content] = copies
        self.seconds["copies"] += perf_counter() - begun

    def _given_back(self, size: int) -> None:
        self.held -= size

    def drop(self, content: Content) -> None:
        """Let go of a copy."""
        self._spare[content[0]] = self._kept.pop(content)

    def put(self, content: Content) -> None:
        """Let a unit hold what was copied."""
        begun = perf_counter()
        for copy in self._kept[content]:
            copy.restore()
        array, span = self.units.places[content[0]]
        for tangents in self._beside(array.key)[len(self._kept[content]) - 1 :]:
            tangents.fill(0, span)  # there were none when the copy was made
        self.seconds["copies"] += perf_counter() - begun

    def exchange(self, content: Content, other: Content) -> None:
        """Let a unit hold what was copied, and the copy, from now on of another content, what it
        held."""
        array, _ = self.units.places[content[0]]
        copies = self._kept[content]
        if len(copies) <= len(self._beside(array.key)):  # tangents that there were not then
            self.keep(other)
            self.put(content)
            self.drop(content)
            return
        begun = perf_counter()
        for copy in copies:
            copy.exchange()
        self._kept[other] = self._kept.pop(content)
        self.seconds["copies"] += perf_counter() - begun

    def run(self, step: int) -> None:
        """Launch again."""
        begun = perf_counter()
        self.repeats[step]()
        self._note("launches again", step, perf_counter() - begun)

    def reverse(self, step: int) -> None:
        """Run the reverses of what a step stands for."""
        self._spare.clear()
        reverses = self.reverses.get(step)
        if reverses is not None:
            begun = perf_counter()
            for run in reversed(reverses):
                run()
            self._note("reverses", step, perf_counter() - begun)

    def _note(self, activity: str, step: int, seconds: float) -> None:
        self.seconds[activity] += seconds
        of_steps = self.of_steps[activity]
        of_steps[step] = of_steps.get(step, 0.0) + seconds

    def take_apart(self, contents: Sequence[Content], pieces: Sequence[int]) -> None:
        """Make copies of a unit copies of its parts, one after the other; there is space for one of
        them more."""
        for content in contents:
            copies = self._kept.pop(content)
            for copy in copies:
                copy.exchange()
            for piece in pieces:
                self.keep((piece, content[1]))
            for copy in copies:
                copy.exchange()
