"""A tape within a budget: what is recorded becomes steps of a planner, over units of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mlirad.ad.budget.copies import Copies
from mlirad.ad.budget.explanation import explain_budget
from mlirad.ad.budget.graph import Step
from mlirad.ad.budget.held_arrays import HeldArrays
from mlirad.ad.budget.known_plans import KnownPlans, PlanFollower
from mlirad.ad.budget.planner import Planner
from mlirad.ad.budget.room import NoRoomError
from mlirad.ad.budget.units import Units, size_of, span_of
from mlirad.ad.budget.use import KernelUse
from mlirad.ad.recording.array_table import ArrayTable, TapeArray
from mlirad.ad.recording.entries import ConstantLaunch, Entry, RecordedCall
from mlirad.ad.recording.keeper import Keeper
from mlirad.ad.recording.known_states import Key, Overwritten
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.versions import Version, Versions
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError
from mlirad.lang.kernels.launch import Launch
from mlirad.pipeline.mode import PRIMAL
from mlirad.runtime.boxes import Box
from mlirad.runtime.explanation import Explanation
from mlirad.runtime.footprints import Footprints
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements, SparseElements
from mlirad.runtime.program import Program


class Budget(Keeper):
    """A keeper within `memory`: bytes, or a part of what would be kept without a budget, which is
    at least what the reverse cannot do without."""

    repeats_launches = True

    def __init__(
        self, program: Program, rules: str, order: Order, arrays: ArrayTable, *, memory: int | float
    ) -> None:
        self.program, self.rules, self.order, self.memory = program, rules, order, memory
        self.arrays = HeldArrays(arrays)
        self.would_keep = 0  # bytes
        self.copies = Copies(program, order.beside)
        self.plan = PlanFollower(self.copies, lambda: self.bytes, KnownPlans.of_program(program))
        self.plan.is_open = isinstance(memory, float)
        self.units = Units(self.plan.unit, self.plan.split, order.tangents_beside)
        self.copies.units = self.units
        self.names: dict[int, str] = {}  # of kernels, by step
        self._uses: dict[tuple[Variant, int], KernelUse] = {}
        self._attached: list[Entry] = []
        self._written: set[int] = set()  # units, by Python since the last launch

    @property
    def bytes(self) -> int:
        """The bytes that there are now."""
        if isinstance(self.memory, int):
            return self.memory
        return int(self.memory * self.would_keep)

    @property
    def limit(self) -> int:
        """The bytes that there were in reverse."""
        return max(self.bytes, self.planner.room.least)

    @property
    def planner(self) -> Planner:
        """Return the planner, which knows all that was recorded."""
        return self.plan.planner

    def count(self, size: int) -> None:
        """Some bytes would be kept."""
        self.would_keep += size

    def versions(self) -> Versions:
        tangents = self.order.tangents_beside
        return CountedVersions(self.program, self.rules, self.count, tangents)

    # While the program runs: each before it is done.

    def launch(self, launch: Launch, footprints: Footprints | None) -> None:
        """A kernel is launched, whose reverse has footprints, if there is one.

        Raises TaichiRuntimeError for what cannot be within a budget.
        """
        key = launch.variant, id(footprints)
        use = self._uses.get(key)
        if use is None:
            use = self._uses[key] = KernelUse(self.program, launch.variant, footprints)
        self._written.clear()
        beside = self.order.beside if self.order.tangents_beside else None
        mode = PRIMAL
        if footprints is not None:
            mode = self.order.primal_mode(launch.variant, is_constant=False, validates=False)
        again = use.again(mode, launch, beside) if use.is_repeatable else None
        self._record(use.step(self.units, launch), again)
        self.names[self.plan.steps - 1] = use.name

    def write(self, key: Key, elements: Elements, box: Box) -> None:
        """Python writes to a box: one step with the writes to the same units before it, as nothing
        sees what is between them. Raises TaichiRuntimeError for a sparse field."""
        if isinstance(elements, SparseElements):
            raise TaichiRuntimeError(
                f"ti.ad.Tape(memory=...): Python writes to field '{key}' of a sparse block, "
                "which cannot be recomputed within a memory limit"
            )
        is_primal = not (isinstance(key, str) and self.program.derivatives.are_derivatives(key))
        units, partial = self.units.around(key, elements, box) if is_primal else ((), frozenset())
        new = tuple(unit for unit in units if unit not in self._written)
        if new or not self._written:
            blends = frozenset(unit for unit in new if unit in partial)
            self._record(
                Step(writes=new, blends=blends, cost=self.units.cost(new), is_repeatable=False),
                None,
            )
        self._written.update(new)

    def transfer(self) -> None:
        self._call(())

    def add_call(
        self,
        entry: RecordedCall | ConstantLaunch,
        touched: Sequence[tuple[Key, Elements, Box]],
        arrays: Sequence[TapeArray],
    ) -> None:
        """Gradients that are given run on arrays of Python's as they were."""
        self._call(touched)
        if isinstance(entry, ConstantLaunch):
            self.add(entry)
        else:
            run = partial(_run_gradient, entry, self.units)
            self._attach(entry, partial(self.arrays.lending, arrays, run))

    def _call(self, touched: Sequence[tuple[Key, Elements, Box]]) -> None:
        self._written.clear()
        dense = [access for access in touched if not isinstance(access[1], SparseElements)]
        for access in dense:
            self.units.of_box(*access)
        units = [u for access in dense for u in self.units.of_box(*access)]
        self._record(Step(needs=tuple(dict.fromkeys(units)), is_repeatable=False), None)

    def add(self, entry: Entry) -> None:
        self._attach(entry, entry.reverse)

    def _attach(self, entry: Entry, reverse: Callable[[], None]) -> None:
        number = self.plan.steps - 1
        self._attached.append(entry)
        self.copies.reverses.setdefault(number, []).append(reverse)

    def take_back(self) -> None:
        self._attached.pop()
        self.copies.reverses[self.plan.steps - 1].pop()

    def _record(self, step: Step, again: Callable[[], None] | None) -> None:
        number = self.plan.record(step)
        if again is not None:
            self.copies.repeats[number] = again

    # Arrays of Python's.

    def hold(self, launch: Launch) -> Launch:
        """A launch as it can be done again: on copies of arrays that are not ours."""
        return self.arrays.hold(launch) if launch.arrays else launch

    def take(self, launch: Launch) -> None:
        """A launch is done: copy what it wrote to arrays that are not ours."""
        if launch.arrays:
            self.arrays.take(launch)

    def check_arrays(self, who: str) -> None:
        """Raise TaichiRuntimeError for arrays that Python has changed."""
        self.arrays.check_all(who)

    # In reverse.

    def reverse(self, entries: Sequence[Entry]) -> None:
        """Run the reverses of a tape's entries. Raises TaichiMemoryError, before the first, where
        the budget cannot do."""
        assert [id(entry) for entry in entries] == [id(entry) for entry in self._attached]
        try:
            self.plan.reverse()
        except NoRoomError:
            raise TaichiMemoryError(self._message()) from None

    def explain(self, entries: Sequence[Entry]) -> Explanation:
        head = f"memory={self.memory!r}: {self.limit} bytes, of {self.would_keep} without a limit"
        return explain_budget(self.planner, self.units, self.copies, self.names, head)

    def _message(self) -> str:
        return (
            f"ti.ad.Tape(memory={self.memory}): the memory limit is too low for this program: "
            f"memory={self.planner.graph.least()} is the lowest limit that works, for initial "
            "values that are overwritten, for values that cannot be recomputed, and for the "
            "final values of the program"
        )


def _run_gradient(call: RecordedCall, units: Units) -> None:
    """Run a gradient that was given for a function. Raises TaichiRuntimeError where it leaves
    something else in memory that launches may be made again from."""
    arrays = list(units.arrays.values())
    before = [array.elements.checksum() for array in arrays]
    call.reverse()
    for array, checksum in zip(arrays, before):
        if array.elements.checksum() != checksum:
            raise TaichiRuntimeError(
                f"ti.ad.Tape(memory=...): the gradient function of {call} overwrites "
                f"{'field ' if isinstance(array.key, str) else ''}'{array.key}', but launches "
                "that use it may have to run again: let it write to fields that the recorded "
                "program does not use"
            )


class CountedVersions(Versions):
    """Keeps nothing, and tells `count` the bytes that would be."""

    def __init__(
        self, program: Program, rules: str, count: Callable[[int], None], tangents: int
    ) -> None:
        super().__init__(program, rules)
        self._count, self._tangents = count, tangents

    def keep(self, overwritten: Overwritten, elements: Elements) -> list[Version]:
        span = span_of(elements, overwritten.box)
        if span is not None:
            self._count(size_of(elements, span, self._tangents))
        return []
