"""What launches and writes from Python go to while the body of a checkpointed loop runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.ad.checkpoint.actions import CallAgain, CopyAgain
from mlirad.ad.checkpoint.current_step import CurrentStep
from mlirad.ad.checkpoint.recorded import Declared, Recorded, Statistics
from mlirad.ad.checkpoint.replay import Loop, LoopAgain
from mlirad.ad.checkpoint.step_arrays import StepArrays
from mlirad.ad.checkpoint.step_transfers import StepTransfers
from mlirad.ad.checkpoint.touched import Touched
from mlirad.ad.recorder.lost import warn_of_views, warn_of_write
from mlirad.ad.recorder.recording import Recording
from mlirad.ad.recording.target_memory import touched_box
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import GivenGradient, Target
from mlirad.runtime.footprints import Flow


class StepRecorder(StepTransfers):
    """Record the steps of a loop, and take snapshots in front of them.

    Inside a step of another loop that is not recorded by the tape itself, no snapshots are taken:
    all of it is run again. Where the number of steps is known, the tape records the last one, and
    so reverses it without running it again.
    """

    def __init__(
        self,
        outer: Recording | StepRecorder,
        declared: Declared,
        length: int | None,
        statistics: Statistics,
    ) -> None:
        self.outer, self.declared = outer, declared
        self.length, self.statistics = length, statistics
        self.tape: Recording = outer.tape if isinstance(outer, StepRecorder) else outer
        self.ledger = self.tape.ledger
        self.log = Recorded()
        self.step = CurrentStep()
        self.number = 0  # of the step that runs
        self.taped = False  # whether the tape records it
        self.is_closed = False
        outer.finish_write()
        self.loop: Loop | None = None
        if isinstance(outer, Recording) or outer.taped:
            self.loop = Loop(self.tape, declared, self.log, statistics, length)
            self.ledger.entries.append(self.loop)
        around: Touched | None = outer.touched if isinstance(outer, StepRecorder) else None
        note_sum = None if self.loop is None else self.loop.note_written
        self.touched: Touched = Touched(self.tape.program, declared, self.log, around, note_sum)
        self.arrays = StepArrays(self.ledger, self.touched)
        self.tape.program.threads.record_by(self)

    # Steps.

    def begin_step(self) -> None:
        """Memory is in the state that the next step begins with."""
        if self.loop is None or self.taped:
            return
        if self.number + 1 == self.length:
            self.taped = True
            return
        self.loop.reach(self.number)

    def end_step(self) -> None:
        """The step is done."""
        self.finish_write()
        if not self.taped:
            self.log.append(self.step.take())
        self.number += 1
        self.statistics.steps += 1
        self.statistics.executions += 1

    def close(self) -> None:
        """The loop is done, or left."""
        if self.is_closed:
            return
        self.finish_write()
        if self.step.actions or (self.taped and self.number < (self.length or 0)):
            self.end_step()
        self.is_closed = True
        self.tape.program.threads.record_by(self.outer)
        if self.loop is not None:
            self.loop.finish(len(self.log))
        if isinstance(self.outer, StepRecorder):
            self.outer.take(self.log, self.declared, self.loop is None)

    def take(self, inner: Recorded, declared: Declared, is_to_be_repeated: bool) -> None:
        """Add an inner loop to the step; what it read and wrote has been noted."""
        self.log.take(inner)
        if is_to_be_repeated and len(inner):
            self.step.do(LoopAgain(declared), inner)

    def outermost(self) -> Loop:
        """The loop that the tape has: this one, or one around it."""
        if isinstance(self.outer, StepRecorder):
            return self.outer.outermost()
        assert self.loop is not None
        return self.loop

    # What a tape is asked for.

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses."""
        return self.tape.validates

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel and record it; what it returns. Raises TaichiRuntimeError where it writes
        what was not declared."""
        self.finish_write()
        self.tape.refuse_emptied(launch.variant)
        if self.is_replacing:
            shared = self.arrays.shared(launch)
            self.touched.note_launch(shared)
            if self.taped:
                return self.tape.launch(launch)
            self.step.launch_alone(shared)
            return launch.run()
        if launch.arrays:
            launch = self.ledger.arrays.gradients.with_gradients(launch)
            launch = self.arrays.mirrored(launch, self.outermost())
        for part in self.ledger.parts(launch):
            results = self._launch_part(part)
        warn_of_views(self.ledger, launch)
        return results

    def _launch_part(self, launch: Launch) -> Any:
        shared = self.arrays.shared(launch)
        self.touched.note_launch(shared)
        named = self.arrays.named(shared)
        self.log.note_part(shared.variant, named)
        if self.taped:
            return self.tape.record(launch)
        results = self.tape.run(launch)
        self.arrays.note_carried(shared, named)
        self.step.launch(shared)
        return results

    def result(self, launch: Launch) -> None:
        """A kernel returns something to Python."""
        if not self.is_replacing:
            self.tape.result(launch)

    def replaced(
        self,
        function: GivenGradient,
        primal: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a function with a gradient of its own, and record what it does."""
        if self.is_replacing:
            return primal(*args, **keywords)
        self.finish_write()
        self.touched.note_call(function)
        if self.taped:
            self.is_replacing = True
            try:
                return self.tape.replaced(function, primal, args, keywords)
            finally:
                self.is_replacing, self.step = False, CurrentStep()
        outside, self.step, self.is_replacing = self.step, CurrentStep(), True
        try:
            result = primal(*args, **keywords)
            self.finish_write()
            outside.do(CallAgain(function), args, keywords, tuple(self.step.actions))
        finally:
            self.step, self.is_replacing = outside, False
        return result

    # What Python does.

    def host_read(self, target: Target) -> None:
        """Python reads a field."""
        if not self.is_replacing or self.tape.call is not None:
            self.tape.host_read(target)

    def host_write(self, target: Target, index: tuple[int | slice, ...] | None) -> None:
        """Python is about to write to a field. Raises TaichiRuntimeError where it was not
        declared."""
        self.finish_write()
        place = caller()
        if target.is_derivative:
            return  # which steps do not use
        self.touched.note_target(target, "Python", place, is_written=True)
        if self.taped:
            self.tape.host_write(target, index)
            return
        if not self.is_replacing and self.tape.is_recording:
            warn_of_write(self.ledger, target, touched_box(target, index), place)
        self.step.write(target, index)

    def finish_write(self) -> None:
        """Record what Python wrote last."""
        self.step.finish_write()

    def host_copy(self, target: Field, source: Field) -> None:
        """Python is about to copy a field to another."""
        self.finish_write()
        place = caller()
        self.touched.note_target(target, "copy_from", place, is_written=True)
        self.touched.note_target(source, "copy_from", place, is_written=False)
        if self.taped:
            self.tape.host_copy(target, source)
            return
        if target.dtype.is_float and not self.is_replacing:
            self.ledger.note_copy(target, source, place)
            self.log.named[Flow(target.symbol, place, (source.symbol,))] = None
        self.step.do(CopyAgain(target, source))
