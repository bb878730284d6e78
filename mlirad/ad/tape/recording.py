"""What launches and writes from Python go to inside a tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlirad.ad.tape.activity import activity_writes
from mlirad.ad.tape.entries import (
    HostCopy,
    HostWrite,
    Launch,
    activities_of,
    box_of,
    index_of_copy,
    memory_of,
    sparse_memory,
    touched_box,
)
from mlirad.ad.tape.ledger import Ledger
from mlirad.ad.tape.lost import (
    warn_of_carried_read,
    warn_of_carried_result,
    warn_of_views,
    warn_of_write,
)
from mlirad.ad.tape.order import Order
from mlirad.ad.tape.recorded_gradients import RecordedGradients
from mlirad.lang.arguments.array_buffer import ArrayBuffer, write_back
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import LaunchedKernel, Target
from mlirad.runtime.codes import Derivative
from mlirad.runtime.program import Program
from mlirad.runtime.variant import Variant


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
        memory: int | float | None = None,
    ) -> None:
        self.ledger = Ledger(program, rules, order, memory)
        self.program, self.order, self.is_recording = program, order, False
        self.validation, self.keeps_written = validation, keeps_written
        self.closed_at = -1  # the program's count of changes when the recording ended

    def begin(self) -> None:
        """Record from now on."""
        self.program.threads.recorder, self.is_recording = self, True

    def close(self) -> None:
        """Record no more."""
        self.program.threads.recorder, self.is_recording = None, False
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

    def launch(
        self,
        kernel: LaunchedKernel,
        variant: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
    ) -> Any:
        """Launch a kernel, keeping what it overwrites of what reverses read; what it returns.

        Raises TaichiCompilationError where it cannot be differentiated.
        """
        self.finish_write()
        ledger = self.ledger
        if variant.used_gradients:
            self.use_gradients(variant.used_gradients, variant)
        if self.is_cut and self.call is None:
            if not variant.reaches_gradients():
                return self.launch_alone(kernel, variant, values, buffers)
            variant = variant.without_derivative()
        if self.call is not None:
            self.order.prepare_launches([variant])
            ledger.claims.use_variant(variant)
            self.call.launch(variant, values, ledger.hold(variant, values, buffers))
            found = self.run(variant, values, buffers)
            ledger.take(variant, values, buffers)
            ledger.arrays.unseen.seen_by_call(buffers, kernel.__name__)
            return found
        if ledger.apart.symbols:
            variant = ledger.apart.variant(variant)
        if buffers:
            ledger.claims.use_arrays([b.owner for b in buffers if isinstance(b.owner, Ndarray)])
            variant, buffers = ledger.arrays.gradients.with_gradients(variant, buffers)
        pieces, buffers = ledger.pieces(variant, buffers)
        if len(pieces) > 1:
            for piece in pieces:  # what has no reverse is refused before anything runs
                piece.codes.derivative(self.order.reverse_mode)
        found = [self.record(kernel, piece, values, buffers) for piece in pieces][-1]
        warn_of_views(ledger, variant, buffers)
        return found

    def record(
        self,
        kernel: LaunchedKernel,
        piece: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
    ) -> Any:
        """Launch a piece of a kernel, keeping what it overwrites of what reverses read."""
        derivative = piece.codes.derivative(self.order.reverse_mode)
        if buffers:
            return self._record_with_arrays(kernel, piece, values, buffers, derivative)
        versions = self.ledger.versions
        saved = versions.before_launch(piece, values, ())
        self.ledger.plan(piece, values, (), derivative)
        found = self.run(piece, values, ())
        self.ledger.add(Launch(kernel, piece, values, (), saved, derivative))
        versions.after_launch(piece, values, ())
        return found

    def _record_with_arrays(
        self,
        kernel: LaunchedKernel,
        piece: Variant,
        values: Sequence[Any],
        buffers: Sequence[ArrayBuffer],
        derivative: Derivative,
    ) -> Any:
        ledger = self.ledger
        arrays, versions = ledger.arrays, ledger.versions
        known = [arrays.known.know(buffer, kernel.__name__) for buffer in buffers]
        held = ledger.hold(piece, values, buffers)
        own, unseen, saved = arrays.unseen.look(piece, values, buffers, known, versions)
        self.order.use_arrays(_with_gradients(own))
        ledger.entries += unseen
        ledger.plan(piece, values, held, derivative)
        saved += versions.before_launch(piece, values, own)
        found = self.run(piece, values, buffers)
        arrays.unseen.take(piece, values, buffers, known)
        ledger.take(piece, values, buffers)
        given = [buffer.without_copy() for buffer in buffers]
        ledger.add(Launch(kernel, piece, values, own, saved, derivative, given, known))
        versions.after_launch(piece, values, own)
        return found

    def run(self, piece: Variant, values: Sequence[Any], buffers: Sequence[ArrayBuffer]) -> Any:
        """Launch one of the pieces of a kernel without recording it; what it returns."""
        is_aside = self.is_replacing or self.is_cut
        validates = self.validates and not piece.kernel.is_reverse
        mode = self.order.primal_mode(piece, is_replacing=is_aside, validates=validates)
        self.order.before_run(piece, values, buffers, is_replacing=is_aside)
        found = self.compute(piece, mode, values, buffers)
        write_back(buffers, piece.notes.written_arrays)
        return found

    def result(
        self, kernel: LaunchedKernel, variant: Variant, buffers: Sequence[ArrayBuffer]
    ) -> None:
        """A launch returns something to Python."""
        if not self.is_replacing and not self.is_cut:
            warn_of_carried_result(self.ledger, kernel, variant, buffers)

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
        if ledger.budget is not None:
            ledger.budget.write(key, elements, touched)
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


def _with_gradients(buffers: Sequence[ArrayBuffer]) -> list[Ndarray]:
    """The ndarrays that are passed with a gradient."""
    return [
        buffer.owner
        for buffer in buffers
        if buffer.grad is not None and isinstance(buffer.owner, Ndarray)
    ]
