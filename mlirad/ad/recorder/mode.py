"""The modes of a tape: what it does with launches and with what Python reads and writes depends on
which function of the program they are in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from mlirad.ad.recording.ledger import Ledger
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.recorder import FunctionCall, Target
from mlirad.lang.transfer import Pass, Transfer
from mlirad.runtime.memory.memory import Index


class RecordingMode(ABC):
    """A mode does what the program asks for, and notes it in the tape's ledger."""

    is_differentiating = False  # whether derivatives pass
    follows_reads = False  # whether each read by Python matters, used or not

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.order, self.program = ledger, ledger.order, ledger.program
        self.reverse_mode = ledger.order.reverse_mode

    def cut(self) -> RecordingMode:
        """Return the mode inside a function without a gradient."""
        return self

    @abstractmethod
    def inside(self, call: FunctionCall) -> AbstractContextManager[RecordingMode]:
        """Give the mode inside a call of a function with a gradient of its own, or with none."""

    @abstractmethod
    def launch(self, launch: Launch) -> Any:
        """Launch a kernel; what it returns."""

    @abstractmethod
    def launch_reverse(self, launch: Launch) -> None:
        """Launch the reverse of a kernel."""

    @abstractmethod
    def empties_gradient(self, symbol: str) -> bool:
        """Return whether launches that deactivate cells of a field clear its gradient too."""

    @abstractmethod
    def clear_gradients(self) -> None:
        """Python is about to set all gradients to 0."""

    @abstractmethod
    def result(self, launch: Launch) -> None:
        """A launch returns something to Python."""

    @abstractmethod
    def host_read(self, target: Target) -> None:
        """Python reads."""

    @abstractmethod
    def host_write(self, target: Target, index: Index | None) -> None:
        """Python is about to write."""

    @abstractmethod
    def host_copy(self, target: Field, source: Field) -> None:
        """Python is about to copy a field to another."""

    @abstractmethod
    def transfer(self, transfer: Transfer, why: Pass, number: int) -> None:
        """Carry out a transfer, which has a number."""
