"""Linear maps between memory that Python carries out, such as communication: what recorders need to
know of one to differentiate it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.boxes import Box
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.memory.values import Values


class Pass(Enum):
    """Why a transfer is carried out."""

    PLAIN = "nothing records"
    TAPE = "in a tape"
    FORWARD = "in forward mode"
    AGAIN = "a step of a loop is done again"
    REVERSE = "a tape's reverse"


class Piece(msgspec.Struct, frozen=True):
    """A box of a field or an ndarray, in the axes of its elements; None for all of it."""

    target: Field | Ndarray
    box: Box | None = None

    @property
    def is_float(self) -> bool:
        """Return whether it may carry a derivative."""
        return self.target.dtype.is_float

    def box_in(self, elements: Elements) -> Box:
        return ((None, None),) * len(elements.shape) if self.box is None else self.box

    def keep(self) -> None:
        """Tell what keeps arrays that this one is about to be written."""
        target, keeper = self.target, self.target.program.threads.keeper
        if keeper is not None and isinstance(target, Ndarray):
            keeper.before_box(target, self.box_in(target.elements))

    def note_write(self, values: Values) -> None:
        """Count that Python writes values there, for what does not record."""
        target = self.target
        if target.is_derivative:
            return
        target.count_write()
        if isinstance(target, Field) and target.dtype.is_float:
            target.note_values(values)


# what a transfer chose by the values that it was given: it is linear for each choice
Decision = Any


class Transfer(ABC):
    """Memory that becomes a linear function of memory: perhaps of other processes.

    What is at `sources` is read and what is at `targets` is written, after all is read. All
    processes that take part carry out the same transfers, and their derivatives, in one order.
    """

    name: str
    sources: Sequence[Piece]
    targets: Sequence[Piece]
    # what carries derivatives in any process, though nothing of it be read or written in this one
    sent: Sequence[Field | Ndarray]
    reached: Sequence[Field | Ndarray]

    @abstractmethod
    def number(self) -> int:
        """A number for one carrying out, the same in every process."""

    @abstractmethod
    def agree(self, why: Pass, number: int, carries: bool) -> bool:
        """Return whether a derivative passes in one of the processes. Raises TaichiRuntimeError
        if they are not about to do the same."""

    @abstractmethod
    def apply(self, values: Sequence[Values]) -> tuple[Sequence[Values], Decision]:
        """Return the new values of the targets, computed from those of the sources, and the choices
        that were made. For derivatives, sources and targets of integers are left out."""

    @abstractmethod
    def push(self, tangents: Sequence[Values], decision: Decision) -> Sequence[Values]:
        """The tangents of the targets."""

    @abstractmethod
    def pull(self, adjoints: Sequence[Values], decision: Decision) -> Sequence[Values]:
        """Return the additions to the adjoints of the sources."""

    def kept_bytes(self, decision: Decision) -> int:
        """The size of what was chosen."""
        return 0

    @property
    def arrays(self) -> Sequence[Field | Ndarray]:
        """The arrays of the transfer, once each."""
        return list({id(array): array for array in (*self.sent, *self.reached)}.values())

    @property
    def is_float(self) -> bool:
        """Return whether derivatives may pass."""
        return all(array.dtype.is_float and not array.is_derivative for array in self.arrays)

    def run(self, *, counts: bool = True) -> Decision:
        """Carry it out at the present state of memory, which `counts` as a write from Python; what
        was chosen."""
        results, decision = self.apply([read(piece, piece.target) for piece in self.sources])
        for piece, values in zip(self.targets, results, strict=True):
            piece.keep()
            write(piece, piece.target, values)
            if counts:
                piece.note_write(values)
        return decision


def derivative_of(target: Field | Ndarray, kind: DerivativeKind) -> Field | Ndarray:
    """A derivative of a field or an ndarray. Raises TaichiRuntimeError for an ndarray without a
    gradient."""
    if isinstance(target, Field):
        return target.derivative(kind)
    if target.grad is None:
        raise TaichiRuntimeError(
            f"a derivative passes through a ti.ndarray of shape {target.shape} that is "
            "communicated and has no gradient: create it with needs_grad=True"
        )
    if not kind.is_tangent:
        return target.grad
    return (target.grad if kind.is_of_gradient else target).tangent(kind.direction)


def elements_of(target: Field | Ndarray) -> Elements:
    """The elements of a field or an ndarray, or of its derivative."""
    return target.find_memory().elements if isinstance(target, Field) else target.elements


def read(piece: Piece, target: Field | Ndarray) -> Values:
    """Return the values of a piece of a field, or of its derivative: a view if possible, to be used
    before anything writes."""
    elements = elements_of(target)
    if piece.box is not None:
        return elements.read(piece.box)
    view = None if isinstance(target, Ndarray) or target.primal is not None else elements.lend()
    return elements.read() if view is None else view


def write(piece: Piece, target: Field | Ndarray, values: Values) -> None:
    """Set a piece of a field, or of its derivative."""
    elements_of(target).write(values, piece.box)


def clear(piece: Piece, target: Field | Ndarray) -> None:
    """Set a piece of a derivative to 0."""
    elements_of(target).fill(0, piece.box)


def add(piece: Piece, target: Field | Ndarray, values: Values) -> None:
    """Add to a piece of a derivative."""
    elements = elements_of(target)
    elements.write(elements.read(piece.box) + values, piece.box)
