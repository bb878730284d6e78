"""What launches and writes from Python go to while the body of a checkpointed loop runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
from mlirad.ad.checkpoint.recorded import Declared, Recorded, Statistics, Target
from mlirad.ad.checkpoint.replay import Loop, LoopAgain
from mlirad.ad.checkpoint.schedule import OnlinePlacement, placements
from mlirad.ad.functions.custom_gradients import nothing
from mlirad.ad.tape.accesses import Accesses, accesses_of
from mlirad.ad.tape.entries import box_of, memory_of, named_flows, touched_box, written_boxes
from mlirad.ad.tape.places import caller
from mlirad.ad.tape.tape import Tape
from mlirad.ad.tape.versions import Key, part
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments import ArrayBuffer
from mlirad.lang.field.field import Field
from mlirad.lang.kernel import Kernel, flat_values
from mlirad.pipeline.mode import PRIMAL
from mlirad.runtime.footprints import Flow
from mlirad.runtime.variant import Variant


class StepRecorder:
    """Record the steps of a loop, and take snapshots in front of them.

    Inside a step of another loop that is not recorded by the tape itself, no snapshots are taken:
    all of it is run again. Where the number of steps is known, the tape records the last one, and
    so reverses it without running it again.
    """

    def __init__(
        self,
        outer: Tape | StepRecorder,
        tape: Tape,
        declared: Declared,
        length: int | None,
        statistics: Statistics,
    ) -> None:
        self.outer, self.tape, self.declared, self.length, self.statistics = (
            outer,
            tape,
            declared,
            length,
            statistics,
        )
        self.allowed = {memory_of(target)[0] for target in (*declared.state, *declared.scratch)}
        self.log = Recorded()
        self.read: dict[Key, str] = {}  # by fields and addresses, but for those allowed
        self.known: dict[Variant, Accesses] = {}
        self.buffers: dict[Any, tuple[ArrayBuffer, ...]] = {}
        self.step: list[tuple[Action, tuple[Any, ...]]] = []
        self.pending: tuple[Target, tuple[int, ...] | None] | None = None  # what Python is writing
        self.number = 0  # of the step that runs
        self.taped = False  # whether the tape records it
        self.is_replacing = False
        self.is_closed = False
        outer.finish_write()
        self.loop: Loop | None = None
        if isinstance(outer, Tape) or outer.taped:
            self.loop = Loop(tape, declared, self.log, statistics)
            tape.entries.append(self.loop)
            self.online = OnlinePlacement(declared.snapshots)
            self.planned = (
                None if length is None else frozenset(placements(length, declared.snapshots))
            )
        tape.program.recorder = self

    # Steps.

    def begin_step(self) -> None:
        """Memory is in the state that the next step begins with."""
        if self.loop is None or self.taped:
            return
        if self.length is not None and self.number == self.length - 1:
            self.taped = True
            return
        if self.planned is not None:
            if self.number in self.planned:
                self.loop.keep(self.number)
            return
        wanted = self.online.reach(self.number)
        if self.number in wanted:
            self.loop.keep(
                self.number, [state for state in self.loop.states.kept if state not in wanted]
            )

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
        self.tape.program.recorder = self.outer
        if self.loop is not None:
            self.loop.finish(len(self.log))
        if isinstance(self.outer, StepRecorder):
            self.outer.take(self.log, self.declared, self.loop is None)

    def take(self, inner: Recorded, declared: Declared, is_to_be_repeated: bool) -> None:
        """Add an inner loop to the step; what it read and wrote has been noted."""
        self.log.pieces.update(inner.pieces)
        self.log.named.update(inner.named)
        self.log.arrays.update(inner.arrays)
        self.log.calls_gradient |= inner.calls_gradient
        if is_to_be_repeated and len(inner):
            self.step.append((LoopAgain(declared), (inner,)))

    # What a tape is asked for.

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses."""
        return self.tape.validates

    def launch(
        self,
        kernel: Kernel,
        variant: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
    ) -> Any:
        """Launch a kernel and record it; what it returns. Raises TaichiRuntimeError where it writes
        what was not declared."""
        self.finish_write()
        if self.is_replacing:
            shared = self._shared(buffers)
            self.note(kernel, variant, values, shared)
            self.step.append((LaunchAlone(variant), (*values, shared, checksums(shared))))
            self.tape.versions.note_buffers(buffers)
            return variant.launch(PRIMAL, flat_values(values, buffers, variant, reverse=False))
        found = None
        if buffers:
            variant, buffers = self.tape.arrays.with_gradients(variant, buffers)
            buffers = [self._mirrored(kernel, buffer) for buffer in buffers]
        shared = self._shared(buffers)
        for piece in self.tape.pieces(variant):
            self.note(kernel, piece, values, shared)
            if shared:
                self.log.named.update(
                    dict.fromkeys(
                        named_flows(piece.footprints().flows.between, piece, self._named(shared))
                    )
                )
            else:
                self.log.pieces[piece] = None
            if self.taped:
                found = self.tape.record(kernel, piece, values, buffers)
                continue
            found = self.tape.run(piece, values, buffers)
            self._note_carried(piece, values, shared)
            if shared:
                self.step.append((LaunchOnArrays(kernel, piece), (*values, shared)))
            else:
                self.step.append((LaunchAgain(kernel, piece), tuple(values)))
        return found

    def _named(self, buffers: Sequence[ArrayBuffer]) -> list[Any]:
        """What flows call array arguments that were seen before."""
        return [self.tape.arrays.know(buffer, "") for buffer in buffers]

    def _note_carried(
        self, piece: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]
    ) -> None:
        """Tell the tape what a launch, which it does not record itself, leaves in arrays."""
        footprints, named = piece.footprints(), self._named(buffers)
        self.tape.carriers.follow(self.tape.entries)
        self.tape.carriers.launched(
            named_flows(footprints.flows.between, piece, named),
            lambda array: written_boxes(array, footprints, piece, values, named),
        )

    def _mirrored(self, kernel: Kernel, buffer: ArrayBuffer) -> ArrayBuffer:
        """The array that steps read when they are done again: of one that Python may change unseen,
        the tape's copy.

        Raises TaichiRuntimeError where Python has changed it since a step that read it.
        """
        one = self.tape.arrays.know(buffer, kernel.__name__)
        if one.mirror is None:
            return buffer
        recorders = [self]
        while isinstance(recorders[-1].outer, StepRecorder):
            recorders.append(recorders[-1].outer)
        if any(
            one.mirror.own.address in recorder.read for recorder in recorders
        ) and one.mirror.differs(one.whole):
            raise self._error(
                f"array argument '{buffer.name}' of kernel '{kernel.__name__}' holds something "
                f"else than in an "
                "earlier step: pass a ti.ndarray, or a new array for each step"
            )
        outermost = recorders[-1].loop
        assert outermost is not None
        position = self.tape.entries.index(outermost)
        self.tape.entries[position:position] = self.tape.arrays.look_at(one, self.tape.versions)
        return one.of_reverse(buffer)

    def replaced(
        self,
        function: Any,
        primal: Callable[..., Any],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Any:
        """Call a function with a gradient of its own, and record what it does."""
        if self.is_replacing:
            return primal(*args, **keywords)
        self.finish_write()
        self.note_call(function)
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

    def host_read(self, target: Any) -> None:
        """Python reads a field."""
        self.tape.host_read(target)

    def result(self, kernel: Kernel, variant: Variant, buffers: Sequence[ArrayBuffer]) -> None:
        """A kernel returns something to Python."""
        if not self.is_replacing:
            self.tape.result(kernel, variant, buffers)

    def host_write(self, target: Target, index: tuple[int, ...] | None) -> None:
        """Python is about to write to a field. Raises TaichiRuntimeError where it was not
        declared."""
        self.finish_write()
        place = caller()
        self.note_target(target, "Python", place, is_written=True)
        if not self.is_replacing and not self.taped:
            self.tape.warn_of_write(target, touched_box(target, index), place)
        if self.taped and not self.is_replacing:
            self.tape.host_write(target, index)
            return
        self.pending = target, index

    def host_copy(self, target: Field, source: Field) -> None:
        """Python is about to copy a field to another."""
        self.finish_write()
        self.note_target(target, "copy_from", caller(), is_written=True)
        self.note_target(source, "copy_from", caller(), is_written=False)
        if self.is_replacing:
            self.step.append((CopyAgain(target, source), ()))
            return
        if self.taped:
            self.tape.host_copy(target, source)
            return
        if target.dtype.is_float:
            self.tape.note_copy(target, source)
            self.log.named[Flow(target.symbol, caller(), (source.symbol,))] = None
        self.step.append((CopyAgain(target, source), ()))

    def finish_write(self) -> None:
        """Record what Python wrote last."""
        if self.pending is None:
            return
        (target, index), self.pending = self.pending, None
        view = memory_of(target)[1]
        data = part(view, box_of(view, index))
        value = data.item() if data.size == 1 else data.copy()
        self.step.append(
            (WriteAgain(target, None if index is None else len(index)), (*(index or ()), value))
        )

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
        return self.buffers.setdefault(key, tuple(buffers))

    # What steps may touch.

    def note(
        self,
        kernel: Kernel,
        piece: Variant,
        values: Sequence[Any],
        buffers: tuple[ArrayBuffer, ...],
    ) -> None:
        """Raise TaichiRuntimeError where a launch writes what was not declared; note what it
        reads."""
        found = self.known.get(piece)
        if found is None:
            found = self.known[piece] = accesses_of(piece)
            self._note_fields(f"kernel '{kernel.__name__}'", found)
        if buffers:
            self.log.arrays.update({buffer.address: buffer for buffer in buffers})
            self._note_arrays(f"kernel '{kernel.__name__}'", found, values, buffers)
        if isinstance(self.outer, StepRecorder):
            self.outer.note(kernel, piece, values, buffers)

    def _note_fields(self, who: str, found: Accesses) -> None:
        current = self.tape.program
        for array, place in (*found.stored.items(), *found.added.items(), *found.read.items()):
            if array in current.gradients:
                raise self._error(
                    f"{who} uses the gradient field '{array}' at {place}, which the reverse changes"
                )
        for accesses, note in (
            (found.stored, self._note_stored),
            (found.added, self._note_added),
            (found.read, self._note_read),
        ):
            for array, place in accesses.items():
                if isinstance(array, str):
                    note(array, current.fields[array].view, f"field '{array}'", who, place)

    def _note_arrays(
        self, who: str, found: Accesses, values: Sequence[Any], buffers: tuple[ArrayBuffer, ...]
    ) -> None:
        for accesses, note in (
            (found.stored, self._note_stored),
            (found.added, self._note_added),
            (found.read, self._note_read),
        ):
            for array, place in accesses.items():
                if isinstance(array, str):
                    continue
                buffer = buffers[sum(1 for value in values[:array] if value is values[array])]
                if buffer.is_ours and buffer.owner.is_gradient:
                    raise self._error(
                        f"{who} uses the gradient of a ti.ndarray at {place}, which the reverse "
                        f"changes"
                    )
                if accesses is not found.read and not buffer.is_ours:
                    raise self._error(
                        f"{who} writes to an array argument at {place} that is no ti.ndarray: "
                        f"its changes "
                        "cannot be followed"
                    )
                note(
                    buffer.address,
                    buffer.array(),
                    f"an array argument of shape {buffer.dims}",
                    who,
                    place,
                )

    def _note_stored(
        self, key: Key, view: np.ndarray[Any, Any], name: str, who: str, place: str
    ) -> None:
        if key not in self.allowed:
            raise self._error(
                f"{who} writes to {name} at {place}, which is neither in state= nor in scratch="
            )

    def _note_added(
        self, key: Key, view: np.ndarray[Any, Any], name: str, who: str, place: str
    ) -> None:
        if key in self.allowed or key in self.log.sums:
            return
        if key in self.read:
            raise self._error(
                f"{who} adds to {name} at {place}, which is read at {self.read[key]}: put it "
                f"into state="
            )
        if self.log.calls_gradient:
            raise self._error(
                f"{who} adds to {name} at {place}, and a gradient given for a function may read "
                f"it: put it "
                "into state="
            )
        self.log.sums[key] = view
        if self.loop is not None:
            self.loop.note_written(key, view)

    def _note_read(
        self, key: Key, view: np.ndarray[Any, Any], name: str, who: str, place: str
    ) -> None:
        if key in self.allowed or key in self.read:
            return
        if key in self.log.sums:
            raise self._error(
                f"{who} reads {name} at {place}, to which steps add: put it into state="
            )
        self.read[key] = place
        self.log.constants[key] = view

    def note_target(self, target: Target, who: str, place: str, *, is_written: bool) -> None:
        """The same for what Python reads or writes."""
        key, view, _ = memory_of(target)
        note = self._note_stored if is_written else self._note_read
        note(
            key,
            view,
            f"field '{key}'" if isinstance(key, str) else f"a ti.ndarray of shape {view.shape}",
            who,
            place,
        )
        if isinstance(self.outer, StepRecorder):
            self.outer.note_target(target, who, place, is_written=is_written)

    def note_call(self, function: Any) -> None:
        """Steps call a function with a gradient of its own, which may read everything."""
        if getattr(function, "grad", None) is nothing:
            return
        if self.log.sums:
            raise self._error(
                f"function '{function.__name__}' has a gradient of its own, which may read "
                f"{', '.join(repr(key) for key in self.log.sums)}: put that into state="
            )
        self.log.calls_gradient = True
        if isinstance(self.outer, StepRecorder):
            self.outer.note_call(function)

    def _error(self, message: str) -> TaichiRuntimeError:
        return TaichiRuntimeError(f"ti.ad.checkpointed() at {self.declared.place}: {message}")
