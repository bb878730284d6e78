"""What a tape computes beside values and adjoints: nothing, or tangents of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recording.claims import Claims
from mlirad.ad.recording.versions import Key
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
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Elements


class Order(ABC):
    """The order of the derivatives that a tape is for."""

    repeats_steps: bool  # whether checkpointed loops run steps again; else they are any loop
    uses_gradients: bool  # whether programs may use gradients, which have adjoints then
    tangents_beside: int  # how many arrays `beside` gives at most
    copied: Sequence[DerivativeKind]  # what goes back with what is copied from field to field

    @abstractmethod
    def primal_mode(self, variant: Variant, *, is_constant: bool, validates: bool) -> Mode:
        """How a launch runs; `is_constant` if no derivative passes."""

    @property
    @abstractmethod
    def reverse_mode(self) -> Mode:
        """How reverses run."""

    @abstractmethod
    def prepare(self, loss: Target | None) -> None:
        """Before a tape is entered."""

    @abstractmethod
    def begin(self, claims: Claims) -> None:
        """A tape is entered, and gradients are cleared."""

    @abstractmethod
    def prepare_launches(self, variants: Sequence[Variant]) -> None:
        """Before launches of kernels."""

    @abstractmethod
    def before_run(self, launch: Launch, *, is_constant: bool) -> None:
        """A launch is about to run."""

    @abstractmethod
    def use_arrays(self, arrays: Iterable[Ndarray]) -> None:
        """Arrays that carry derivatives are about to be read or written: what lies beside them is
        kept with them from now on."""

    @abstractmethod
    def beside(self, key: Key) -> Sequence[Elements]:
        """The memory that lies beside an array's, and is kept with it."""

    @abstractmethod
    def check_call(self, function: GivenGradient) -> None:
        """Raise TaichiRuntimeError for a function whose gradient cannot serve."""

    @abstractmethod
    def host_write(
        self,
        target: Target,
        index: tuple[int | slice, ...] | None,
        hidden: Ndarray | None,
        sparse: FieldMemory | None,
    ) -> Sequence[Elements]:
        """Python writes over elements: the memory beside that of their adjoint, which is cleared
        in reverse; `hidden` is a gradient that the tape gave, `sparse` the memory of a field of
        which the active elements are set."""

    @abstractmethod
    def prepare_copy(self, target: Field, source: Field) -> None:
        """A copy is about to carry a derivative."""

    @abstractmethod
    def host_copy(self, target: Field, source: Field, *, carries: bool) -> None:
        """Copy what lies beside one field to another; without a derivative it is 0."""

    @abstractmethod
    def prepare_transfer(self, fields: Sequence[Field]) -> None:
        """A transfer among fields is about to carry a derivative."""

    @abstractmethod
    def before_transfer(self, transfer: Transfer) -> None:
        """A transfer is about to write."""

    @abstractmethod
    def transfer(self, transfer: Transfer, decision: Decision, carries: bool) -> None:
        """What lies beside goes with what was transferred; without a derivative it is 0."""


class FirstOrder(Order, msgspec.Struct, frozen=True, metaclass=AbstractStruct):
    """Gradients, of launches that may be checked."""

    anomaly: bool = False

    repeats_steps = uses_gradients = True
    tangents_beside = 0
    copied = (ADJOINT,)

    def primal_mode(self, variant: Variant, *, is_constant: bool, validates: bool) -> Mode:
        """Functions with a gradient of their own are not checked."""
        if is_constant:
            return PRIMAL
        if validates:
            return VALIDATION_ANOMALY if self.anomaly else VALIDATION
        return ANOMALY if self.anomaly else PRIMAL

    @property
    def reverse_mode(self) -> Mode:
        """The reverse of such a launch."""
        return ANOMALY_REVERSE if self.anomaly else REVERSE

    def prepare(self, loss: Target | None) -> None:
        """Nothing."""

    def begin(self, claims: Claims) -> None:
        """Nothing."""

    def prepare_launches(self, variants: Sequence[Variant]) -> None:
        """Nothing."""

    def before_run(self, launch: Launch, *, is_constant: bool) -> None:
        """Nothing."""

    def use_arrays(self, arrays: Iterable[Ndarray]) -> None:
        """Nothing."""

    def beside(self, key: Key) -> Sequence[Elements]:
        """Nothing."""
        return ()

    def check_call(self, function: GivenGradient) -> None:
        """Any gradient serves."""

    def host_write(
        self,
        target: Target,
        index: tuple[int | slice, ...] | None,
        hidden: Ndarray | None,
        sparse: FieldMemory | None,
    ) -> Sequence[Elements]:
        """Nothing."""
        return ()

    def prepare_copy(self, target: Field, source: Field) -> None:
        """Nothing."""

    def host_copy(self, target: Field, source: Field, *, carries: bool) -> None:
        """Nothing."""

    def prepare_transfer(self, fields: Sequence[Field]) -> None:
        """Nothing."""

    def before_transfer(self, transfer: Transfer) -> None:
        """Nothing."""

    def transfer(self, transfer: Transfer, decision: Decision, carries: bool) -> None:
        """Nothing."""
