"""The modes of a tape in the program itself, and inside a function without a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mlirad.ad.recorder.call_mode import call_of
from mlirad.ad.recorder.custom_gradients import nothing
from mlirad.ad.recorder.known_launch import note_known, repeat
from mlirad.ad.recorder.lost import (
    warn_of_carried_read,
    warn_of_carried_result,
    warn_of_views,
    warn_of_write,
)
from mlirad.ad.recorder.mode import RecordingMode
from mlirad.ad.recorder.recorded_transfer import record_transfer
from mlirad.ad.recorder.used_gradients import follow_gradient, follows_gradients, use_gradients
from mlirad.ad.recording.entries import (
    ConstantLaunch,
    HostCopy,
    HostWrite,
    RecordedCall,
    RecordedLaunch,
)
from mlirad.ad.recording.target_memory import (
    activities_of,
    box_of,
    index_of_copy,
    memory_of,
    sparse_memory,
    touched_box,
)
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.arguments.array_buffer import ArrayBuffer, write_back
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.kernels.reverse_alone import reverse_launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import FunctionCall, Target
from mlirad.lang.transfer import Pass, Transfer
from mlirad.pipeline.mode import Mode
from mlirad.runtime.kernels.codes import Derivative
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Index


class ProgramMode(RecordingMode):
    """Launches and writes are recorded, with what they overwrite of what reverses read."""

    is_differentiating = True

    def cut(self) -> RecordingMode:
        return CutMode(self.ledger)

    def inside(self, call: FunctionCall) -> AbstractContextManager[RecordingMode]:
        """Record a call of a function. Raises TaichiRuntimeError for one that was to be given a
        gradient."""
        if call.function.grad is None:
            raise TaichiRuntimeError(
                f"'{call.function.__name__}' is decorated with ti.ad.grad_replaced, but has no "
                "gradient: define it by ti.ad.grad_for"
            )
        if call.function.grad is nothing:
            return nullcontext(self.cut())
        return call_of(self.ledger, RecordedCall(call, []), caller())

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel, part by part; what it returns.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        ledger, variant = self.ledger, launch.variant
        if ledger.repeats_known and (results := repeat(ledger, launch, self.run)) is not None:
            return results
        asked = launch
        if variant.used_gradients:
            use_gradients(ledger, variant.used_gradients, None, variant)
        if ledger.outer_adjoints.symbols:
            launch = launch.with_variant(ledger.outer_adjoints.variant(variant))
        if launch.arrays and not ledger.arrays.gradients.are_known(launch):
            ledger.claims.use_arrays(launch.ndarrays())
            launch = ledger.arrays.gradients.with_gradients(launch)
        launches = ledger.pieces(launch)
        if len(launches) > 1:
            for piece in launches:  # what has no reverse is refused before anything runs
                piece.variant.codes.derivative(self.reverse_mode)
        state = ledger.versions.position.state
        for piece in launches:
            results = self.record(piece)
        if ledger.repeats_known:
            mode = None if self.order.follows_launches else self._primal_mode(variant)
            note_known(state, ledger, asked, launches, mode)
        if self.program.threads.views.handed:
            warn_of_views(ledger, launch)
        return results

    def record(self, launch: Launch) -> Any:
        """Launch a part of a kernel, keeping what it overwrites of what reverses read."""
        derivative = launch.variant.codes.derivative(self.reverse_mode)
        if launch.arrays:
            return self._record_with_arrays(launch, derivative)
        ledger, footprints = self.ledger, derivative.footprints
        versions = ledger.versions
        saved = versions.before_launch(launch, footprints)
        ledger.keeper.launch(launch, footprints)
        results = self.run(launch)
        ledger.add(RecordedLaunch(launch, saved, derivative))
        versions.after_launch(launch, footprints)
        return results

    def _record_with_arrays(self, launch: Launch, derivative: Derivative) -> Any:
        ledger = self.ledger
        arrays, versions, keeper = ledger.arrays, ledger.versions, ledger.keeper
        named = [arrays.table.know(array, launch.kernel.__name__) for array in launch.arrays]
        again = keeper.hold(launch)
        of_reverse, unseen, saved = arrays.unseen.look(launch, named, versions)
        if self.order.tangents_beside:
            self.order.use_arrays(_with_gradients(of_reverse.arrays))
        ledger.entries += unseen
        keeper.launch(again, derivative.footprints)
        saved += versions.before_launch(of_reverse, derivative.footprints)
        results = self.run(launch)
        arrays.unseen.take(launch, named)
        keeper.take(launch)
        buffers = [a if a.original_view is None else a.without_copy() for a in launch.arrays]
        ledger.add(RecordedLaunch(of_reverse, saved, derivative, buffers, named))
        versions.after_launch(of_reverse, derivative.footprints)
        return results

    def run(self, launch: Launch) -> Any:
        """Launch a part of a kernel without recording it; what it returns."""
        variant = launch.variant
        mode = self._primal_mode(variant)
        self.order.before_run(launch, is_constant=not self.is_differentiating)
        results: tuple[Any, ...] = variant.codes.code(mode).launch(launch.values, launch.arrays)
        if launch.arrays:
            write_back(launch.arrays, variant.notes.written_arrays)
        return results

    def _primal_mode(self, variant: Variant) -> Mode:
        validates = self.ledger.validates and not variant.kernel.is_reverse
        is_constant = not self.is_differentiating
        return self.order.primal_mode(variant, is_constant=is_constant, validates=validates)

    def launch_reverse(self, launch: Launch) -> None:
        """Launch the reverse of a kernel, which is a kernel as any other: it reads and writes
        gradients.

        Raises TaichiRuntimeError, or TaichiCompilationError, where it has no derivative.
        """
        self.launch(reverse_launch(launch, "tape"))

    def empties_gradient(self, symbol: str) -> bool:
        """Return whether the program has used it: else it is 0, and belongs to the reverse."""
        return symbol in self.ledger.outer_adjoints.symbols

    def clear_gradients(self) -> None:
        ledger, derivatives, place = self.ledger, self.program.derivatives, caller()
        ledger.outer_adjoints.forget_cleared()
        if not follows_gradients(ledger):
            return
        for name, primal in derivatives.primals.items():
            if primal not in derivatives.primals:
                elements = self.program.fields[name].elements
                adjoint = derivatives.adjoints.get(name)
                adjoints = [] if adjoint is None else [self.program.fields[adjoint].elements]
                box = box_of(elements, None)
                saved = ledger.versions.before_write(name, elements, box, place)
                ledger.add(HostWrite(elements, adjoints, box, saved, name))

    def result(self, launch: Launch) -> None:
        warn_of_carried_result(self.ledger, launch)

    def host_read(self, target: Target) -> None:
        warn_of_carried_read(self.ledger, target)

    def host_write(self, target: Target, index: Index | None) -> None:
        ledger, order = self.ledger, self.order
        if target.is_derivative and not follow_gradient(ledger, target):
            return
        key, elements, adjoint = memory_of(target)
        hidden = ledger.arrays.gradients.hidden_of(target) if isinstance(target, Ndarray) else None
        adjoint = hidden.elements if hidden is not None else adjoint
        sparse = sparse_memory(target, index)
        box, touched, place = box_of(elements, index), touched_box(target, index), caller()
        if not target.is_derivative:
            self._write_activity(target, place)
            if ledger.is_open and self.is_differentiating:  # else a step of a loop is done again
                warn_of_write(ledger, target, touched, place)
        ledger.keeper.write(key, elements, touched)
        if isinstance(target, Ndarray) and adjoint is not None:
            order.use_arrays([target])
        saved = ledger.versions.before_write(key, elements, touched, place)
        beside = order.host_write(target, index, hidden)
        adjoints = [*([] if adjoint is None else [adjoint]), *beside]
        backlog = self.program.backlog if isinstance(target, Field) else None
        ledger.add(HostWrite(elements, adjoints, box, saved, key, sparse, backlog=backlog))
        for name, cells in activities_of(target) if sparse is not None else ():
            ledger.versions.need(name, cells, place)

    def _write_activity(self, target: Target, place: str) -> None:
        """Keep which elements of a field are active, before Python makes others active."""
        for key, cells in activities_of(target):
            box = box_of(cells, None)
            saved = self.ledger.versions.before_write(key, cells, box, place)
            self.ledger.entries.append(HostWrite(cells, (), box, saved, key))

    def host_copy(self, target: Field, source: Field) -> None:
        """Keep what a copy is about to overwrite, and note where its derivative goes."""
        ledger, place = self.ledger, caller()
        self._use_copied(target, source)
        carries = ledger.note_copy(target, source, place)
        if carries:
            self.order.prepare_fields([target, source])
        self.host_write(target, index_of_copy(target))
        self.order.host_copy(target, source, carries=True)
        if carries:
            saved = ledger.take_back().saved
            ledger.add(HostCopy(target, source, place, saved, self.order.copied))
            warn_of_views(ledger)

    def _use_copied(self, target: Field, source: Field) -> None:
        gradients = [field.symbol for field in (target, source) if field.is_derivative]
        if gradients:
            use_gradients(self.ledger, gradients)

    def transfer(self, transfer: Transfer, why: Pass, number: int) -> None:
        record_transfer(self.ledger, transfer, number, is_cut=not self.is_differentiating)


class CutMode(ProgramMode):
    """A mode in which what is launched and written is recorded, and carries no derivative: what
    kernels store is constant."""

    is_differentiating = False

    def cut(self) -> RecordingMode:
        return self

    def inside(self, call: FunctionCall) -> AbstractContextManager[RecordingMode]:
        return nullcontext(self)

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel; one whose reverse would do nothing, as a call."""
        variant = launch.variant
        if variant.used_gradients:
            use_gradients(self.ledger, variant.used_gradients, None, variant)
        if variant.reaches_gradients():
            return super().launch(launch.with_variant(variant.without_derivative()))
        entry = ConstantLaunch(
            launch.with_arrays([array.without_copy() for array in launch.arrays]), []
        )
        with call_of(self.ledger, entry, caller()) as mode:
            return mode.launch(launch)

    def result(self, launch: Launch) -> None:
        """Nothing: no derivative passes."""

    def host_read(self, target: Target) -> None:
        """Nothing: no derivative passes."""

    def host_copy(self, target: Field, source: Field) -> None:
        self._use_copied(target, source)
        self.host_write(target, index_of_copy(target))
        self.order.host_copy(target, source, carries=False)


def _with_gradients(arrays: Sequence[ArrayBuffer]) -> list[Ndarray]:
    return [
        array.owner
        for array in arrays
        if array.grad is not None and isinstance(array.owner, Ndarray)
    ]
