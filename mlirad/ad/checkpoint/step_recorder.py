"""What launches and writes from Python go to while the body of a checkpointed loop runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mlirad.ad.checkpoint.actions import (
    Action,
    CallAgain,
    CopyAgain,
    LaunchAgain,
    LaunchAlone,
    LaunchOnArrays,
    WriteAgain,
    checksums,
)
from mlirad.ad.checkpoint.recorded import Declared, Recorded, Statistics
from mlirad.ad.checkpoint.replay import Loop, LoopAgain
from mlirad.ad.checkpoint.schedule import OnlinePlacement, Placement, PlannedPlacement
from mlirad.ad.checkpoint.touched import Touched
from mlirad.ad.tape.entries import box_of, memory_of, named_flows, touched_box, written_boxes
from mlirad.ad.tape.known_arrays import KnownArray
from mlirad.ad.tape.lost import warn_of_write
from mlirad.ad.tape.recording import Recording
from mlirad.ad.tape.versions import Key
from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.recorder import GivenGradient, LaunchedKernel, Recorder, Target
from mlirad.pipeline.mode import PRIMAL
from mlirad.runtime.footprints import Flow
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.variant import Variant


class StepRecorder(Recorder):
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
        self.outer, self.declared, self.length, self.statistics = (
            outer,
            declared,
            length,
            statistics,
        )
        self.tape: Recording = outer.tape if isinstance(outer, StepRecorder) else outer
        self.ledger = self.tape.ledger
        self.log = Recorded()
        self.step: list[tuple[Action, tuple[Any, ...]]] = []
        self.number = 0  # of the step that runs
        self.taped = False  # whether the tape records it
        self.is_closed = False
        self._buffers: dict[Hashable, tuple[ArrayBuffer, ...]] = {}
        # what Python is writing
        self._pending: tuple[Target, tuple[int | slice, ...] | None] | None = None
        outer.finish_write()
        self.loop: Loop | None = None
        if isinstance(outer, Recording) or outer.taped:
            self.loop = Loop(self.tape, declared, self.log, statistics)
            self.ledger.entries.append(self.loop)
            kept = declared.snapshots
            self.placement: Placement = (
                OnlinePlacement(kept) if length is None else PlannedPlacement(length, kept)
            )
        around: Touched | None = outer.touched if isinstance(outer, StepRecorder) else None
        self.touched: Touched = Touched(
            self.tape.program, declared, self.log, around, self._note_sum
        )
        self.tape.program.threads.recorder = self

    def _note_sum(self, key: Key, elements: Elements) -> None:
        if self.loop is not None:
            self.loop.note_written(key, elements)

    # Steps.

    def begin_step(self) -> None:
        """Memory is in the state that the next step begins with."""
        if self.loop is None or self.taped:
            return
        if self.number + 1 == self.length:
            self.taped = True
            return
        wanted = self.placement.reach(self.number)
        if self.number in wanted:
            dropped = [state for state in self.loop.states.kept if state not in wanted]
            self.loop.keep(self.number, dropped)

    def end_step(self) -> None:
        """The step is done."""
        self.finish_write()
        if not self.taped:
            self.log.append(self.step)
            self.step = []
        self.number += 1
        self.statistics.steps += 1
        self.statistics.executions += 1

    def close(self) -> None:
        """The loop is done, or left."""
        if self.is_closed:
            return
        self.finish_write()
        if self.step or (self.taped and self.number < (self.length or 0)):
            self.end_step()
        self.is_closed = True
        self.tape.program.threads.recorder = self.outer
        if self.loop is not None:
            self.loop.finish(len(self.log))
        if isinstance(self.outer, StepRecorder):
            self.outer.take(self.log, self.declared, self.loop is None)

    def take(self, inner: Recorded, declared: Declared, is_to_be_repeated: bool) -> None:
        """Add an inner loop to the step; what it read and wrote has been noted."""
        self.log.take(inner)
        if is_to_be_repeated and len(inner):
            self.step.append((LoopAgain(declared), (inner,)))

    # What a tape is asked for.

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses."""
        return self.tape.validates

    def launch(
        self,
        kernel: LaunchedKernel,
        variant: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
    ) -> Any:
        """Launch a kernel and record it; what it returns. Raises TaichiRuntimeError where it writes
        what was not declared."""
        self.finish_write()
        if self.is_replacing:
            return self._launch_alone(kernel, variant, values, buffers)
        found = None
        if buffers:
            variant, buffers = self.ledger.arrays.gradients.with_gradients(variant, buffers)
            buffers = [self._mirrored(kernel, buffer) for buffer in buffers]
        shared = self._shared(buffers)
        for piece in self.ledger.pieces(variant):
            self.touched.note_launch(kernel, piece, values, shared)
            named = self._named(shared)
            self.log.note_piece(piece, named)
            if self.taped:
                found = self.tape.record(kernel, piece, values, buffers)
                continue
            found = self.tape.run(piece, values, buffers)
            self._note_carried(piece, values, named)
            if shared:
                self.step.append((LaunchOnArrays(kernel, piece), (*values, shared)))
            else:
                self.step.append((LaunchAgain(kernel, piece), tuple(values)))
        return found

    def _launch_alone(
        self,
        kernel: LaunchedKernel,
        variant: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
    ) -> Any:
        """Launch a kernel inside a function with a gradient of its own."""
        shared = self._shared(buffers)
        self.touched.note_launch(kernel, variant, values, shared)
        self.step.append((LaunchAlone(variant), (*values, shared, checksums(shared))))
        self.ledger.versions.note_buffers(buffers)
        return variant.launch(PRIMAL, values, buffers)

    def _named(self, buffers: Sequence[ArrayBuffer]) -> list[KnownArray]:
        """What flows call array arguments that were seen before."""
        return [self.ledger.arrays.known.know(buffer, "") for buffer in buffers]

    def _note_carried(
        self, piece: Variant, values: Sequence[Any], named: Sequence[KnownArray]
    ) -> None:
        """Tell the tape what a launch, which it does not record itself, leaves in arrays."""
        footprints = piece.notes.footprints()
        self.ledger.carriers.follow(self.ledger.entries)
        self.ledger.carriers.launched(
            named_flows(footprints.flows.between, piece, named),
            lambda array: written_boxes(array, footprints, piece, values, named),
        )

    def _mirrored(self, kernel: LaunchedKernel, buffer: ArrayBuffer) -> ArrayBuffer:
        """The array that steps read when they are done again: of one that Python may change unseen,
        the tape's copy.

        Raises TaichiRuntimeError where Python has changed it since a step that read it.
        """
        arrays, entries = self.ledger.arrays, self.ledger.entries
        one = arrays.known.know(buffer, kernel.__name__)
        if one.mirror is None:
            return buffer
        if self.touched.has_read(one.mirror.own.address) and one.mirror.differs(one.whole):
            raise self.touched.error(
                f"array argument '{buffer.name}' of kernel '{kernel.__name__}' holds something "
                "else than in an earlier step: pass a ti.ndarray, or a new array for each step"
            )
        position = entries.index(self._outermost())
        entries[position:position] = arrays.unseen.look_at(one, self.ledger.versions)
        return one.of_reverse(buffer)

    def _outermost(self) -> Loop:
        if isinstance(self.outer, StepRecorder):
            return self.outer._outermost()
        assert self.loop is not None
        return self.loop

    def _shared(self, buffers: Sequence[ArrayBuffer]) -> tuple[ArrayBuffer, ...]:
        """The array arguments of a launch; the same tuple for the same arrays."""
        if not buffers:
            return ()
        key = tuple(
            [
                (b.address, b.dims, id(b.owner), b.grad.address if b.grad is not None else 0)
                for b in buffers
            ]
        )
        return self._buffers.setdefault(key, tuple(buffers))

    def result(
        self, kernel: LaunchedKernel, variant: Variant, buffers: Sequence[ArrayBuffer]
    ) -> None:
        """A kernel returns something to Python."""
        if not self.is_replacing:
            self.tape.result(kernel, variant, buffers)

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
                self.is_replacing, self.step = False, []
        outside, self.step, self.is_replacing = self.step, [], True
        try:
            result = primal(*args, **keywords)
            self.finish_write()
            outside.append((CallAgain(function), (args, keywords, tuple(self.step))))
        finally:
            self.step, self.is_replacing = outside, False
        return result

    # What Python does.

    def host_read(self, target: Target) -> None:
        """Python reads a field."""
        self.tape.host_read(target)

    def host_write(self, target: Target, index: tuple[int | slice, ...] | None) -> None:
        """Python is about to write to a field. Raises TaichiRuntimeError where it was not
        declared."""
        self.finish_write()
        place = caller()
        self.touched.note_target(target, "Python", place, is_written=True)
        if self.taped and not self.is_replacing:
            self.tape.host_write(target, index)
            return
        if not self.is_replacing and self.tape.is_recording:
            warn_of_write(self.ledger, target, touched_box(target, index), place)
        self._pending = target, index

    def finish_write(self) -> None:
        """Record what Python wrote last."""
        if self._pending is None:
            return
        (target, index), self._pending = self._pending, None
        elements = memory_of(target)[1]
        data = elements.read(box_of(elements, index))
        value = data.item() if data.size == 1 else data
        self.step.append(
            (WriteAgain(target, None if index is None else len(index)), (*(index or ()), value))
        )

    def host_copy(self, target: Field, source: Field) -> None:
        """Python is about to copy a field to another."""
        self.finish_write()
        place = caller()
        self.touched.note_target(target, "copy_from", place, is_written=True)
        self.touched.note_target(source, "copy_from", place, is_written=False)
        if self.taped and not self.is_replacing:
            self.tape.host_copy(target, source)
            return
        if target.dtype.is_float and not self.is_replacing:
            self.ledger.note_copy(target, source, place)
            self.log.named[Flow(target.symbol, place, (source.symbol,))] = None
        self.step.append((CopyAgain(target, source), ()))
