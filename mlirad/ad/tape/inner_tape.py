"""A tape inside of what takes derivatives: its launches, and those of their reverses at its end,
are launches of the program, and are differentiated as these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from mlirad.ad.recorder.lost import warn_of_hidden_inside, warn_of_unreached_inside
from mlirad.ad.recording.known_states import Key
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.order import FirstOrder
from mlirad.ad.recording.target_memory import memory_of, touched_box
from mlirad.ad.recording.versions import Versions
from mlirad.ad.tape.seeds import check_loss
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Recorder, Target
from mlirad.lang.transfer import Transfer
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.program import Program


class InnerTape(Recorder):
    """Hand on what is done to the recorder around, and have that launch the reverses at the end.

    Nothing is kept: what reverses need has to be there still.
    """

    def __init__(self, program: Program, outer: Recorder, loss: object) -> None:
        if isinstance(outer, InnerTape):
            self._refuse("a tape inside a tape inside a program that is differentiated")
        check_loss(loss)
        if not isinstance(loss, Field):
            self._refuse("an ndarray as the loss of a tape inside a program that is differentiated")
        self.program, self.outer, self.loss = program, outer, loss
        self.ledger = Ledger(program, "refuse", FirstOrder())
        self.versions = _NothingKept(program, "refuse")
        self.launches: list[Launch] = []

    @property
    def is_differentiating(self) -> bool:
        return self.outer.is_differentiating

    @property
    def follows_reads(self) -> bool:
        return self.outer.follows_reads

    def begin(self, clear_gradients: Callable[[], None]) -> None:
        """Set gradients and the loss to 0, and follow launches from now on."""
        clear_gradients()
        with self.outer.cutting():  # what the loss held before is meant to be lost
            self.loss.fill(0)
        self.program.threads.record_by(self)

    def close(self, *, has_failed: bool = True) -> None:
        """Follow no more, and launch the reverses unless the block was left by an exception."""
        self.program.threads.record_by(self.outer)
        if not has_failed:
            self._reverse()

    def _reverse(self) -> None:
        """Launch the reverses, last first."""
        written = [launch.variant.notes.footprints().written for launch in self.launches]
        warn_of_unreached_inside(written, self.loss)
        warn_of_hidden_inside(self.ledger)
        gradient = self.loss.grad
        assert gradient is not None
        gradient.fill(1)
        for launch in reversed(self.launches):
            self.outer.launch_reverse(launch)

    def _refuse(self, problem: str) -> NoReturn:
        raise TaichiRuntimeError(f"{caller()}: {problem} is not differentiated")

    # What is done.

    def launch(self, launch: Launch) -> Any:
        """Launch a kernel. Raises TaichiRuntimeError where it overwrites what reverses need."""
        if launch.arrays:
            self._refuse("a kernel with array arguments, launched in a tape inside a tape,")
        for piece in self.ledger.pieces(launch):  # for which fields get gradients
            footprints = piece.variant.notes.footprints()
            self.versions.before_launch(piece, footprints)
            self.versions.after_launch(piece, footprints)
        self.launches.append(launch)
        return self.outer.launch(launch)

    def launch_reverse(self, launch: Launch) -> None:
        """Raise TaichiRuntimeError: that would be of the third order."""
        self._refuse(
            f"{launch.kernel.__name__}.grad() in a tape inside a program that is differentiated"
        )

    def clear_gradients(self) -> None:
        self.outer.clear_gradients()

    def result(self, launch: Launch) -> None:
        self.outer.result(launch)

    def call_function(self, call: FunctionCall) -> Any:
        """Raise TaichiRuntimeError: a gradient that is given has none."""
        self._refuse(f"'{call.function.__name__}', called in a tape inside a tape,")

    def host_read(self, target: Target) -> None:
        self.outer.host_read(target)

    def host_write(self, target: Target, index: Index | None) -> None:
        """Python is about to write. Raises TaichiRuntimeError over what reverses need."""
        key, elements, _ = memory_of(target)
        self.versions.before_write(key, elements, touched_box(target, index), caller())
        self.outer.host_write(target, index)

    def host_copy(self, target: Field, source: Field) -> None:
        """Raise TaichiRuntimeError: the reverse of a copy is no launch."""
        self._refuse("copy_from in a tape inside a tape")

    def transfer(self, transfer: Transfer) -> None:
        """Raise TaichiRuntimeError: the reverse of a transfer is no launch."""
        self._refuse(f"{transfer.name} in a tape inside a tape")

    def finish_write(self) -> None:
        self.outer.finish_write()


class _NothingKept(Versions):
    """Versions that must not be overwritten."""

    def _allow(self, key: Key, read: str, written: str, why: str) -> None:
        name = f"'{key}'" if isinstance(key, str) else "an array argument"
        raise TaichiRuntimeError(
            f"{name}, read at {read} and needed by the gradient, is overwritten at {written}: a "
            "tape inside a program that is differentiated keeps nothing"
        )
