"""A checkpointed loop on a tape: its recorded steps, snapshots of its state, and its reverse by
running steps again."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from itertools import takewhile
from typing import Any

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.checkpoint.actions import Action, Step
from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration, RecordedSteps, Statistics
from mlirad.ad.checkpoint.schedule import (
    OnlinePlacement,
    Placement,
    PlannedPlacement,
    Reversal,
    reversals,
)
from mlirad.ad.checkpoint.scratch import check_scratch, forget_scratch, spoil_scratch
from mlirad.ad.checkpoint.states import States
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.entries import Entry
from mlirad.ad.recording.keeper import sweep
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.outer_adjoints import OuterAdjoints
from mlirad.ad.recording.versions import Version
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.explanation import Row
from mlirad.runtime.footprints import Flow
from mlirad.runtime.memory.memory import Elements


class Loop(Entry):
    """The steps of a checkpointed loop that are to be run again; where the last one was recorded,
    it is not among them.

    While it is filled, memory is in the state of the step that comes next.
    """

    def __init__(
        self,
        tape: Recording,
        declared: LoopDeclaration,
        log: RecordedSteps,
        statistics: Statistics,
        length: int | None,
    ) -> None:
        self._tape = weakref.ref(tape)  # which has this entry
        self.declared, self.log, self.statistics = declared, log, statistics
        count = declared.snapshots
        self._placement: Placement = (
            OnlinePlacement(count) if length is None else PlannedPlacement(length, count)
        )
        self._length = length
        self.taped_bytes = 0  # kept for the reverse of the last step
        self.steps = 0  # that this entry reverses: the first ones of the log
        self.saved: list[Version] = []
        self.states = States(
            [elements for _, elements in declared.state_memory()], tape.program.capacity
        )
        self.statistics.state_bytes = self.states.state_bytes
        for key, elements in self._written_memory():
            self.note_written(key, elements)

    def _written_memory(self) -> list[tuple[Key, Elements]]:
        return [*self.declared.memory(), *self.log.sums.items(), *self.log.locals.items()]

    @property
    def tape(self) -> Recording:
        tape = self._tape()
        assert tape is not None
        return tape

    # While steps are done the first time.

    def note_written(self, key: Key, elements: Elements) -> None:
        """Keep what earlier reverses need of an array that steps write."""
        layout = self.tape.program.fields[key].layout if isinstance(key, str) else elements
        rank = len(layout.shape)
        self.saved += self.tape.ledger.versions.before_write(
            key, elements, ((None, None),) * rank, self.declared.place
        )

    def reach(self, state: int) -> None:
        """Memory is in a state, which is kept, or not."""
        forgotten = self._placement.reach(state)
        if forgotten is not None:
            self.states.forget(forgotten)
            self._keep(state)
            self._measure(0, 0)

    def finish(self, steps: int) -> None:
        """The steps to be run again are known: later writes keep what they read."""
        self.steps = steps
        entries = reversed(self.tape.ledger.entries)
        behind = takewhile(lambda entry: entry is not self, entries)
        self.taped_bytes = sum(version.copy.nbytes for entry in behind for version in entry.saved)
        tape, place = self.tape, self.declared.place
        for key, elements in self.log.constants.items():
            tape.ledger.versions.need(key, elements, place)
        if self.calls_gradient():
            written = dict(self._written_memory())
            for symbol, memory in tape.program.fields.items():
                if symbol not in tape.program.derivatives.gradients and symbol not in written:
                    tape.ledger.versions.need(symbol, memory.elements, place)

    # In reverse.

    def move(self, outer_adjoints: OuterAdjoints) -> None:
        """Raise TaichiRuntimeError: steps are recorded again one by one."""
        raise TaichiRuntimeError(
            f"the checkpointed loop at {self.declared.place} is on a tape whose program uses "
            f"gradients ({', '.join(sorted(outer_adjoints.symbols))}): use a loop without "
            "checkpoints"
        )

    def reverse(self) -> None:
        """Come to each step, last first, from the nearest snapshot, record it, and run its
        reverses."""
        tape = self.tape
        left = States([elements for _, elements in self._written_memory()], tape.program.capacity)
        self.states.forget([state for state in self.states.kept if state >= self.steps])
        left.keep(0)
        if self.steps + 1 == self._length:  # the step behind was recorded when it first ran
            forget_scratch(self.declared)
        try:
            for plan in reversals(sorted(self.states.kept), self.steps, self.declared.snapshots):
                entries = self._come_to(plan, left)
                size = sum(version.copy.nbytes for entry in entries for version in entry.saved)
                self._measure(
                    1,
                    size
                    + left.state_bytes
                    + sum(row.bytes for entry in entries for row in entry.rows()),
                )
                sweep(entries)
                forget_scratch(self.declared)
                self.states.forget(plan.forget)
        finally:
            left.restore(0)

    def _come_to(self, plan: Reversal, left: States) -> list[Entry]:
        """Run steps again up to one, and record that one."""
        self.states.restore(plan.begin)
        spoil_scratch(self.declared)
        for step in range(plan.begin, plan.step):
            if step in plan.keep:
                self._keep(step)
                self._measure(1, left.state_bytes)
            self._do_again(step)
            if step == plan.begin:
                check_scratch(self.declared, step)
        if plan.step in plan.keep:
            self._keep(plan.step)
            self._measure(1, left.state_bytes)
        self.statistics.executions += 1
        with self.tape.ledger.aside() as entries:
            record(self.tape, self.log[plan.step])
        if plan.step == plan.begin:
            check_scratch(self.declared, plan.step)
        return entries

    def _do_again(self, step: int) -> None:
        self.statistics.executions += 1
        replay(self.tape, self.log[step])

    def _keep(self, state: int) -> None:
        self.states.keep(state)
        self.statistics.snapshots += 1

    def _measure(self, more: int, more_bytes: int) -> None:
        statistics = self.statistics
        statistics.peak_states = max(statistics.peak_states, self.states.copies + more)
        statistics.peak_bytes = max(
            statistics.peak_bytes,
            self.states.copies * self.states.state_bytes + self.taped_bytes + more_bytes,
        )

    # As an entry.

    def flows(self) -> Sequence[Flow]:
        """Return the flows of all steps, as often as a derivative may need to find its way through
        them."""
        flows = self.log.flows()
        return [*flows] * len({flow.target for flow in flows})

    def repeat(self) -> None:
        for step in range(self.steps):
            replay(self.tape, self.log[step])

    def arrays(self) -> Sequence[ArrayBuffer]:
        return list(self.log.arrays.values())

    def may_write(self, array: Hashable) -> bool:
        return (
            self.log.calls_gradient
            or array in self.log.sums
            or any(flow.target == array for flow in self.flows())
            or array in [key for key, _ in self.declared.state_memory()]
        )

    def writes_arrays(self) -> bool:
        return any(isinstance(target, Ndarray) for target in self.declared.state)

    def calls_gradient(self) -> bool:
        return self.log.calls_gradient

    def rows(self) -> Sequence[Row]:
        return [
            Row(
                str(key),
                "",
                self.declared.place,
                "snapshot",
                self.states.copies * elements.copy_bytes(),
            )
            for key, elements in self.declared.state_memory()
        ]

    def __str__(self) -> str:
        return f"the checkpointed loop at {self.declared.place}"


def begin_loop(
    tape: Recording,
    declared: LoopDeclaration,
    log: RecordedSteps,
    statistics: Statistics,
    length: int | None,
) -> Loop:
    loop = Loop(tape, declared, log, statistics, length)
    tape.ledger.entries.append(loop)
    return loop


def replay(tape: Recording, step: Step) -> None:
    """Do a step again, without recording it."""
    for action, arguments in step:
        action.replay(tape, arguments)


def record(tape: Recording, step: Step) -> None:
    """Do a step again, recorded by a tape."""
    for action, arguments in step:
        action.record(tape, arguments)


class LoopAgain(Action, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """A checkpointed loop inside a step of another. The argument: its steps."""

    declared: LoopDeclaration

    def replay(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        log: RecordedSteps = arguments[0]
        for step in range(len(log)):
            replay(tape, log[step])

    def record(self, tape: Recording, arguments: tuple[Any, ...]) -> None:
        """Do its steps as a loop on the tape, which takes snapshots and records the last step."""
        log: RecordedSteps = arguments[0]
        loop = begin_loop(tape, self.declared, log, Statistics(), len(log))
        for step in range(len(log) - 1):
            loop.reach(step)
            replay(tape, log[step])
        record(tape, log[len(log) - 1])
        loop.finish(len(log) - 1)
