"""The recorder of launches and of Python's accesses inside a tape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mlirad.ad.recorder.mode import RecordingMode
from mlirad.ad.recorder.program_mode import ProgramMode
from mlirad.ad.recording.keeper import Keep, KeepAll
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.order import Order
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Recorder, Target
from mlirad.lang.transfer import Pass, Transfer
from mlirad.runtime.memory.memory import Index
from mlirad.runtime.program import Program


class Recording(Recorder):
    """Hand what the program asks for to the mode that the program is in."""

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
        self.program, self.ledger = program, Ledger(program, rules, order, keep)
        self.program_mode = ProgramMode(self.ledger)
        self.mode: RecordingMode = self.program_mode
        self._validation, self._keeps_written = validation, keeps_written
        self.closed_at = -1  # the program's count of changes when the recording ended

    def begin(self) -> None:
        """Record from now on."""
        self.program.executor.begin_sequence()
        self.program.threads.record_by(self)
        self.ledger.begin(validates=self._validation and self.program.config.debug)

    def close(self) -> None:
        self.program.threads.record_by(None)
        self.ledger.is_open = self.ledger.validates = False
        self.closed_at = self.program.threads.changes
        self.program.executor.end_sequence()
        self.finish_write()

    @property
    def validates(self) -> bool:
        return self.ledger.validates

    def finish_write(self) -> None:
        """Keep what Python wrote last, for a program that is to be repeated."""
        if self._keeps_written:
            self.ledger.note_written()

    @contextmanager
    def cutting(self) -> Iterator[None]:
        outside, self.mode = self.mode, self.mode.cut()
        try:
            yield
        finally:
            self.mode = outside

    def call_function(self, call: FunctionCall) -> Any:
        """Call a function with a gradient of its own, or with none.

        Raises TaichiRuntimeError where it was to be given one.
        """
        self.ledger.order.check_call(call.function)
        self.finish_write()
        with self.mode.inside(call) as inside:
            outside, self.mode = self.mode, inside
            try:
                return call.run()
            finally:
                self.mode = outside

    # What the mode decides.

    @property
    def is_differentiating(self) -> bool:
        return self.mode.is_differentiating

    @property
    def follows_reads(self) -> bool:
        return self.mode.follows_reads

    def launch(self, launch: Launch) -> Any:
        if self._keeps_written:
            self.ledger.note_written()
        return self.mode.launch(launch)

    def launch_reverse(self, launch: Launch) -> None:
        self.finish_write()
        self.mode.launch_reverse(launch)

    def empties_gradient(self, symbol: str) -> bool:
        return self.mode.empties_gradient(symbol)

    def clear_gradients(self) -> None:
        self.mode.clear_gradients()

    def result(self, launch: Launch) -> None:
        self.mode.result(launch)

    def host_read(self, target: Target) -> None:
        self.mode.host_read(target)

    def host_write(self, target: Target, index: Index | None) -> None:
        self.finish_write()
        self.mode.host_write(target, index)

    def host_copy(self, target: Field, source: Field) -> None:
        self.finish_write()
        self.mode.host_copy(target, source)

    def transfer(self, transfer: Transfer) -> None:
        self.finish_write()
        self.mode.transfer(transfer, Pass.TAPE, transfer.number())

    def transfer_again(self, transfer: Transfer, number: int) -> None:
        """Carry out a transfer again, with the number that it had."""
        self.mode.transfer(transfer, Pass.AGAIN, number)
