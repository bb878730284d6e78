"""A tape within a budget: what is recorded becomes steps of a planner, over units of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.ad.budget.copies import Copies
from mlirad.ad.budget.explanation import explained
from mlirad.ad.budget.graph import Step
from mlirad.ad.budget.planner import Planner
from mlirad.ad.budget.room import NoRoomError
from mlirad.ad.budget.units import Units
from mlirad.ad.budget.use import KernelUse
from mlirad.ad.tape.versions import Key
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.pipeline.mode import Mode
from mlirad.runtime.boxes import Box
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.memory.memory import Elements, SparseElements
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant

LAUNCH = 4096.0  # what a launch costs besides what it touches, in bytes


class Budget:
    """What a tape keeps within `memory`: bytes, or a part of what would be kept without a
    budget."""

    def __init__(self, program: Program, memory: int | float) -> None:
        self.program, self.memory = program, memory
        self.would_keep = 0  # bytes
        self.copies = Copies(program)
        self.planner = Planner(self.copies, lambda: self.bytes)
        self.planner.room.is_open = isinstance(memory, float)
        self.units = Units(self.planner.graph.unit, self.planner.split)
        self.copies.units = self.units
        self.names: dict[int, str] = {}  # of kernels, by step
        self._uses: dict[tuple[Variant, int], KernelUse] = {}
        self._attached: dict[int, object] = {}  # entries, by step

    @property
    def bytes(self) -> int:
        """The bytes that there are now."""
        if isinstance(self.memory, int):
            return self.memory
        return int(self.memory * self.would_keep)

    def count(self, size: int) -> None:
        """Some bytes would be kept."""
        self.would_keep += size

    # While the program runs: each before it is done.

    def launch(
        self,
        variant: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
        mode: Mode,
        footprints: Footprints | None,
    ) -> None:
        """A kernel is launched, whose reverse has footprints, if there is one.

        Raises TaichiRuntimeError for what cannot be within a budget.
        """
        use = self._uses.get((variant, id(footprints)))
        if use is None:
            use = KernelUse(self.program, variant, footprints)
            self._uses[variant, id(footprints)] = use
        again = use.again(mode, values, buffers) if use.is_repeatable else None
        self._record(use.step(self.units, values, buffers), again)
        self.names[len(self.planner.graph.steps) - 1] = use.name

    def write(self, key: Key, elements: Elements, box: Box) -> None:
        """Python writes to a box. Raises TaichiRuntimeError for a sparse field."""
        if isinstance(elements, SparseElements):
            raise TaichiRuntimeError(
                f"ti.ad.Tape(memory=...): Python writes to field '{key}' of a sparse block, which "
                "cannot be made again within a budget"
            )
        is_primal = not (isinstance(key, str) and self.program.derivatives.are_derivatives(key))
        units = self.units.of(key, elements, box) if is_primal else ()
        self._record(Step(writes=units, is_repeatable=False), None)

    def call(self, touched: Sequence[tuple[Key, Elements, Box]]) -> None:
        """A function with a gradient of its own, which may read what the call has touched, has been
        called."""
        for key, elements, box in touched:
            self.units.of(key, elements, box)
        units = [u for one in touched for u in self.units.of(*one)]
        self._record(Step(needs=tuple(dict.fromkeys(units)), is_repeatable=False), None)

    def attach(self, entry: object, reverse: Callable[[], None]) -> None:
        """An entry of the tape stands for what was recorded last."""
        number = len(self.planner.graph.steps) - 1
        self._attached[number] = entry
        self.copies.reverses[number] = reverse

    def _record(self, step: Step, again: Callable[[], None] | None) -> None:
        touched = sum(self.planner.graph.sizes[unit] for unit in (*step.reads, *step.writes))
        number = self.planner.record(
            Step(
                step.reads,
                step.writes,
                step.blends,
                step.adds,
                step.needs,
                step.before,
                LAUNCH + touched,
                step.is_repeatable,
            )
        )
        if again is not None:
            self.copies.repeats[number] = again

    # In reverse.

    def reverse(self, entries: Sequence[object]) -> None:
        """Run the reverses of a tape's entries. Raises TaichiMemoryError, before the first, where
        the budget cannot do."""
        assert [id(one) for one in entries] == [id(one) for one in self._attached.values()]
        self.planner.room.is_open = False
        try:
            self.planner.reverse()
        except NoRoomError:
            raise TaichiMemoryError(self._message()) from None

    def explain(self) -> Explanation:
        """What is kept, what was given up and made again, and where the time went."""
        head = f"memory={self.memory!r}: {self.bytes} bytes, of {self.would_keep} without a budget"
        return explained(self.planner, self.units, self.copies, self.names, head)

    def _message(self) -> str:
        least, given = self.planner.graph.least(), repr(self.memory)
        part = (
            f", of {self.would_keep} bytes that would be kept" if self.memory != self.bytes else ""
        )
        return (
            f"ti.ad.Tape(memory={given}): {self.bytes} bytes{part}, are too few for this program: "
            f"memory={least} is the least that can, for what was in memory at first and is "
            "overwritten, for what cannot be made again, and for what the program leaves"
        )
