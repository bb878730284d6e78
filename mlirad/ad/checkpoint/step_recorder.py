"""The recorder of launches and of Python's accesses while the body of a checkpointed loop runs."""

from __future__ import annotations

from functools import partial
from typing import Any

from mlirad.ad.checkpoint.recorded_steps import LoopDeclaration, RecordedSteps, Statistics
from mlirad.ad.checkpoint.replay import Loop, begin_loop
from mlirad.ad.checkpoint.step_accesses import StepAccesses
from mlirad.ad.checkpoint.step_arrays import StepArrays
from mlirad.ad.checkpoint.step_modes import LoggedStep, StepMode, TapedStep
from mlirad.ad.recorder.recorded_transfer import arrays_of
from mlirad.ad.recorder.recording import Recording
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Recorder, Target
from mlirad.lang.transfer import Transfer
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Index


class StepRecorder(Recorder):
    """Record the steps of a loop, and take snapshots in front of them.

    Inside a step of another loop that is not recorded by the tape itself, no snapshots are taken:
    all of it is run again. Where the number of steps is known, the tape records the last one, and
    so reverses it without running it again.
    """

    def __init__(
        self,
        outer: Recording | StepRecorder,
        declared: LoopDeclaration,
        length: int | None,
        statistics: Statistics,
    ) -> None:
        self.outer, self.declared = outer, declared
        self.length, self.statistics = length, statistics
        self.log = RecordedSteps()
        self.number = 0  # of the step that runs
        self.is_closed = False
        outer.finish_write()
        self.tape: Recording = outer.tape if isinstance(outer, StepRecorder) else outer
        begin = partial(begin_loop, self.tape, declared, self.log, statistics, length)
        around: StepAccesses | None = None
        if isinstance(outer, StepRecorder):
            self.loop, around = outer.mode.begin_loop(begin), outer.accesses
        else:
            self.loop = begin()
        note_sum = None if self.loop is None else self.loop.note_written
        self.accesses: StepAccesses = StepAccesses(
            self.tape.program, declared, self.log, around, note_sum
        )
        arrays = StepArrays(self.tape.ledger, self.accesses, self.outermost())
        self.mode: StepMode = LoggedStep(self.tape, arrays)
        self.tape.program.threads.record_by(self)

    # Steps.

    def begin_step(self) -> None:
        """Memory is in the state that the next step begins with."""
        if self.loop is None or (self.length is not None and self.number >= self.length):
            return
        if self.number + 1 == self.length:
            self.mode = TapedStep(self.tape, self.mode.arrays)
        else:
            self.loop.reach(self.number)

    def end_step(self) -> None:
        self.finish_write()
        self.mode.end_step()
        self.number += 1
        self.statistics.steps += 1
        self.statistics.executions += 1

    def close(self) -> None:
        if self.is_closed:
            return
        self.finish_write()
        if self.mode.has_begun:
            self.end_step()
        self.is_closed = True
        self.tape.program.threads.record_by(self.outer)
        if self.loop is not None:
            self.loop.finish(len(self.log))
        if isinstance(self.outer, StepRecorder):
            self.outer.take(self.log, self.declared)

    def take(self, inner: RecordedSteps, declared: LoopDeclaration) -> None:
        """Add an inner loop to the step; what it read and wrote has been noted."""
        self.log.take(inner)
        self.mode.end_loop(inner, declared)

    def outermost(self) -> Loop:
        """The loop that the tape has: this one, or one around it."""
        if isinstance(self.outer, StepRecorder):
            return self.outer.outermost()
        assert self.loop is not None
        return self.loop

    # What a tape is asked for.

    @property
    def validates(self) -> bool:
        return self.tape.validates

    @property
    def is_differentiating(self) -> bool:
        return self.mode.is_differentiating

    @property
    def follows_reads(self) -> bool:
        return not self.mode.is_differentiating

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel and record it; what it returns. Raises TaichiRuntimeError where it writes
        what was not declared, and where it reads a clock."""
        self.finish_write()
        self._refuse_emptied(launch.variant)
        _refuse_clocks(launch.variant)
        return self.mode.launch(launch)

    def _refuse_emptied(self, variant: Variant) -> None:
        """Raise TaichiRuntimeError for a launch that would clear a gradient which the program
        uses."""
        for symbol in filter(self.tape.empties_gradient, variant.kernel.emptied):
            raise TaichiRuntimeError(
                f"{caller()}: kernel '{variant.kernel.name}' deactivates '{symbol}', of which "
                "the program uses the gradient, inside a checkpointed loop, which cannot "
                "recompute gradients: use a plain loop"
            )

    def launch_reverse(self, launch: Launch) -> None:
        """Raise TaichiRuntimeError: a step is run again while gradients hold adjoints."""
        raise self.accesses.error(
            f"{launch.kernel.__name__}.grad(), called at {caller()}, writes to gradients, which "
            "the reverse changes"
        )

    def clear_gradients(self) -> None:
        """Nothing: what steps use are not gradients."""

    def result(self, launch: Launch) -> None:
        self.mode.result(launch)

    def call_function(self, call: FunctionCall) -> Any:
        self.finish_write()
        with self.mode.inside(call) as inside:
            outside, self.mode = self.mode, inside
            try:
                return inside.run(call)
            finally:
                self.mode = outside

    # What Python does.

    def host_read(self, target: Target) -> None:
        self.mode.host_read(target)

    def host_write(self, target: Target, index: Index | None) -> None:
        """Python is about to write to a field. Raises TaichiRuntimeError where it was not
        declared."""
        self.finish_write()
        place = caller()
        if target.is_derivative:
            return  # which steps do not use
        self.accesses.note_target(target, "Python", place, is_written=True)
        self.mode.host_write(target, index, place)

    def finish_write(self) -> None:
        self.mode.finish_write()

    def host_copy(self, target: Field, source: Field) -> None:
        self.finish_write()
        place = caller()
        self.accesses.note_target(target, "copy_from", place, is_written=True)
        self.accesses.note_target(source, "copy_from", place, is_written=False)
        self.mode.host_copy(target, source, place)

    def transfer(self, transfer: Transfer) -> None:
        """Carry out a transfer. Raises TaichiRuntimeError where it writes what was not declared."""
        self.finish_write()
        place = caller()
        for piece in transfer.targets:
            self.accesses.note_target(piece.target, transfer.name, place, is_written=True)
        for piece in transfer.sources:
            self.accesses.note_target(piece.target, transfer.name, place, is_written=False)
        self.log.arrays.update(arrays_of(transfer))
        self.mode.transfer(transfer, place)


def _refuse_clocks(variant: Variant) -> None:
    """Raise TaichiRuntimeError for a launch that makes something else when a step is run again."""
    for place in variant.notes.clocks():
        raise TaichiRuntimeError(
            f"{caller()}: kernel '{variant.kernel.name}' reads a clock at {place}, inside a "
            "checkpointed loop, whose steps run again: use a plain loop"
        )
