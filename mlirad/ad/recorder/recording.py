"""What launches and writes from Python go to inside a tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.recorder.lost import (
    warn_of_carried_read,
    warn_of_carried_result,
    warn_of_views,
    warn_of_write,
)
from mlirad.ad.recorder.recorded_gradients import RecordedGradients
from mlirad.ad.recording.activity import activity_writes
from mlirad.ad.recording.entries import HostCopy, HostWrite, RecordedLaunch
from mlirad.ad.recording.keeper import Keep, KeepAll
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.order import Order
from mlirad.ad.recording.target_memory import (
    activities_of,
    box_of,
    index_of_copy,
    memory_of,
    sparse_memory,
    touched_box,
)
from mlirad.lang.arguments.array_buffer import ArrayBuffer, write_back
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.runtime.kernels.codes import Derivative
from mlirad.runtime.program import Program


class Recording(RecordedGradients):
    """Do what the program asks for, and note it, with what it overwrites of what reverses read."""

    def __init__(
        self,
        program: Program,
        rules: str,
        order: Order,
        *,
        validation: bool = False,
        keeps_written: bool = False,
        keep: Keep = KeepAll,
    ) -> None:
        self.ledger = Ledger(program, rules, order, keep)
        self.program, self.order, self.is_recording = program, order, False
        self.validation, self.keeps_written = validation, keeps_written
        self.closed_at = -1  # the program's count of changes when the recording ended

    def begin(self) -> None:
        """Record from now on."""
        self.program.threads.record_by(self)
        self.is_recording = True

    def close(self) -> None:
        """Record no more."""
        self.program.threads.record_by(None)
        self.is_recording = False
        self.closed_at = self.program.threads.changes
        self.finish_write()

    @property
    def validates(self) -> bool:
        """Whether launches check Taichi's rule for accesses now."""
        return self.validation and self.program.config.debug and self.is_recording

    def finish_write(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        if self.keeps_written:
            self.ledger.note_written()

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel, keeping what it overwrites of what reverses read; what it returns.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        self.finish_write()
        ledger, variant = self.ledger, launch.variant
        if variant.used_gradients:
            self.use_gradients(variant.used_gradients, variant)
        if self.is_cut and self.call is None:
            if not variant.reaches_gradients():
                return self.launch_alone(launch)
            launch = launch.with_variant(variant.without_derivative())
        if self.call is not None:
            self.order.prepare_launches([launch.variant])
            ledger.claims.use_variant(launch.variant)
            self.call.launch(ledger.keeper.hold(launch))
            results = self.run(launch)
            ledger.keeper.take(launch)
            ledger.arrays.unseen.seen_by_call(launch)
            return results
        if ledger.apart.symbols:
            launch = launch.with_variant(ledger.apart.variant(launch.variant))
        if launch.arrays:
            ledger.claims.use_arrays(launch.ndarrays())
            launch = ledger.arrays.gradients.with_gradients(launch)
        parts = ledger.parts(launch)
        if len(parts) > 1:
            for part in parts:  # what has no reverse is refused before anything runs
                part.variant.codes.derivative(self.order.reverse_mode)
        for part in parts:
            results = self.record(part)
        warn_of_views(ledger, launch)
        return results

    def record(self, launch: Launch) -> Any:
        """Launch a part of a kernel, keeping what it overwrites of what reverses read."""
        derivative = launch.variant.codes.derivative(self.order.reverse_mode)
        if launch.arrays:
            return self._record_with_arrays(launch, derivative)
        versions = self.ledger.versions
        saved = versions.before_launch(launch)
        self.ledger.keeper.launch(launch, derivative.footprints)
        results = self.run(launch)
        self.ledger.add(RecordedLaunch(launch, saved, derivative))
        versions.after_launch(launch)
        return results

    def _record_with_arrays(self, launch: Launch, derivative: Derivative) -> Any:
        ledger = self.ledger
        arrays, versions, keeper = ledger.arrays, ledger.versions, ledger.keeper
        known = [arrays.known.know(array, launch.kernel.__name__) for array in launch.arrays]
        held = keeper.hold(launch)
        of_reverse, unseen, saved = arrays.unseen.look(launch, known, versions)
        self.order.use_arrays(_with_gradients(of_reverse.arrays))
        ledger.entries += unseen
        keeper.launch(held, derivative.footprints)
        saved += versions.before_launch(of_reverse)
        results = self.run(launch)
        arrays.unseen.take(launch, known)
        keeper.take(launch)
        given = [array.without_copy() for array in launch.arrays]
        ledger.add(RecordedLaunch(of_reverse, saved, derivative, given, known))
        versions.after_launch(of_reverse)
        return results

    def run(self, launch: Launch) -> Any:
        """Launch a part of a kernel without recording it; what it returns."""
        is_aside, variant = self.is_replacing or self.is_cut, launch.variant
        validates = self.validates and not variant.kernel.is_reverse
        mode = self.order.primal_mode(variant, is_replacing=is_aside, validates=validates)
        self.order.before_run(launch, is_replacing=is_aside)
        results = self.compute(launch, mode)
        if launch.arrays:
            write_back(launch.arrays, variant.notes.written_arrays)
        return results

    def result(self, launch: Launch) -> None:
        """A launch returns something to Python."""
        if not self.is_replacing and not self.is_cut:
            warn_of_carried_result(self.ledger, launch)

    def host_read(self, target: Target) -> None:
        """Python reads a field or an ndarray."""
        if self.call is not None:
            if isinstance(target, Field) and target.is_derivative:
                self.use_gradients([target.symbol])
            self.call.read_from_python(target)  # its gradient is its own affair
        elif not self.is_cut:
            warn_of_carried_read(self.ledger, target)

    def host_write(self, target: Target, index: tuple[int | slice, ...] | None) -> None:
        """Keep what Python is about to write: a place in memory (`index`), or everything."""
        self.finish_write()
        sparse = sparse_memory(target, index)
        ledger = self.ledger
        if target.is_derivative and not self.follows(target):
            return
        hidden = ledger.arrays.gradients.hidden_of(target) if isinstance(target, Ndarray) else None
        key, elements, adjoint = memory_of(target)
        adjoint = hidden.elements if hidden is not None else adjoint
        box, touched, place = box_of(elements, index), touched_box(target, index), caller()
        if not target.is_derivative:
            ledger.entries += activity_writes(target, place, ledger.versions, self.call)
        if self.call is not None:
            self.call.write_from_python(key, elements, touched, place)
            self.order.host_write(target, index, hidden, sparse)
            return
        # else a step of a loop is done again
        if self.is_recording and not self.is_cut and not target.is_derivative:
            warn_of_write(ledger, target, touched, place)
        ledger.keeper.write(key, elements, touched)
        if isinstance(target, Ndarray) and adjoint is not None:
            self.order.use_arrays([target])
        saved = ledger.versions.before_write(key, elements, touched, place)
        beside = self.order.host_write(target, index, hidden, sparse)
        adjoints = [*([] if adjoint is None else [adjoint]), *beside]
        ledger.add(HostWrite(elements, adjoints, box, saved, sparse))
        for name, cells in activities_of(target) if sparse is not None else ():
            ledger.versions.need(name, cells, place)

    def host_copy(self, target: Field, source: Field) -> None:
        """Keep what a copy is about to overwrite, and note where its derivative goes."""
        ledger, place = self.ledger, caller()
        gradients = [one.symbol for one in (target, source) if one.is_derivative]
        if gradients:
            self.use_gradients(gradients)
        if self.call is not None:
            self.call.read_from_python(source)
        if self.call is not None or self.is_cut:
            self.host_write(target, index_of_copy(target))
            self.order.host_copy(target, source, carries=False)
            return
        carries = ledger.note_copy(target, source, place)
        if carries:
            self.order.prepare_copy(target, source)
        self.host_write(target, index_of_copy(target))
        self.order.host_copy(target, source, carries=True)
        if carries:
            saved = ledger.take_back().saved
            ledger.add(HostCopy(target, source, place, saved, self.order.copied))
            warn_of_views(ledger)


def _with_gradients(arrays: Sequence[ArrayBuffer]) -> list[Ndarray]:
    """The ndarrays that are passed with a gradient."""
    return [
        array.owner
        for array in arrays
        if array.grad is not None and isinstance(array.owner, Ndarray)
    ]
