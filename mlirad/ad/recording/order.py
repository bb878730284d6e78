"""Orders of derivatives: what a tape computes beside values and adjoints, nothing or tangents of
both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.known_states import Key
from mlirad.lang.field.field import Field
from mlirad.lang.kernels.launch import Launch
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import GivenGradient, Target
from mlirad.lang.transfer import Decision, Transfer
from mlirad.pipeline.mode import (
    ANOMALY,
    ANOMALY_REVERSE,
    PRIMAL,
    REVERSE,
    VALIDATION,
    VALIDATION_ANOMALY,
    Mode,
)
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind
from mlirad.runtime.kernels.variant import Variant
from mlirad.runtime.memory.memory import Elements, Index


class Order(ABC):
    """The order of the derivatives that a tape is for. What is not overridden has nothing to do."""

    follows_launches = True  # with `prepare_launches` and `before_run`
    repeats_steps: bool  # whether checkpointed loops run steps again; else they are any loop
    uses_gradients: bool  # whether programs may use gradients, which have adjoints then
    tangents_beside: int  # how many arrays `beside` gives at most
    copied: Sequence[DerivativeKind]  # what goes back with what is copied from field to field

    @abstractmethod
    def primal_mode(self, variant: Variant, *, is_constant: bool, validates: bool) -> Mode:
        """Return how a launch runs; `is_constant` if no derivative passes."""

    @property
    @abstractmethod
    def reverse_mode(self) -> Mode:
        """Return how reverses run."""

    def prepare(self, loss: Target | None) -> None:
        """Get ready, before a tape is entered."""

    def begin(self, claims: Claims) -> None:
        """Begin a tape, whose gradients have been cleared."""

    def prepare_launches(self, variants: Sequence[Variant]) -> None:
        """Get ready for launches of kernels."""

    def before_run(self, launch: Launch, *, is_constant: bool) -> None:
        """Follow a launch that is about to run."""

    def use_arrays(self, arrays: Iterable[Ndarray]) -> None:
        """Keep what lies beside arrays with them from now on: they carry derivatives, and are about
        to be read or written."""

    def beside(self, key: Key) -> Sequence[Elements]:
        """Return the memory that lies beside an array's, and is kept with it."""
        return ()

    def check_call(self, function: GivenGradient) -> None:
        """Raise TaichiRuntimeError for a function whose gradient cannot serve."""

    def host_write(
        self, target: Target, index: Index | None, hidden: Ndarray | None
    ) -> Sequence[Elements]:
        """Follow a write from Python; return the memory beside that of the elements' adjoint,
        which is cleared in reverse.

        `hidden` is a gradient that the tape gave.
        """
        return ()

    def host_copy(self, target: Field, source: Field, *, carries: bool) -> None:
        """Copy what lies beside one field to another; without a derivative it is 0."""

    def prepare_fields(self, fields: Sequence[Field]) -> None:
        """Get ready for a copy or a transfer among fields that carries a derivative."""

    def before_transfer(self, transfer: Transfer) -> None:
        """Follow a transfer that is about to write."""

    def transfer(self, transfer: Transfer, decision: Decision, carries: bool) -> None:
        """Transfer what lies beside, too; without a derivative it is 0."""


class FirstOrder(Order, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """Gradients, of launches that may be checked."""

    anomaly: bool = False

    follows_launches = False
    repeats_steps = uses_gradients = True
    tangents_beside = 0
    copied = (ADJOINT,)

    def primal_mode(self, variant: Variant, *, is_constant: bool, validates: bool) -> Mode:
        if is_constant:
            return PRIMAL
        if validates:
            return VALIDATION_ANOMALY if self.anomaly else VALIDATION
        return ANOMALY if self.anomaly else PRIMAL

    @property
    def reverse_mode(self) -> Mode:
        return ANOMALY_REVERSE if self.anomaly else REVERSE
