"""Transfers on a tape: linear maps between memory, whose reverse is the transposed map."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mlirad.abstract_struct import AbstractStruct
from mlirad.ad.recording.entries import Entry
from mlirad.ad.recording.ledger import Ledger
from mlirad.ad.recording.target_memory import memory_of, touched_box
from mlirad.ad.recording.versions import Version
from mlirad.lang.arguments.array_buffer import ArrayBuffer, array_buffer
from mlirad.lang.callers import caller
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.lang.recorder import Target
from mlirad.lang.transfer import Decision, Pass, Piece, Transfer, add, clear, derivative_of, read
from mlirad.runtime.boxes import Box
from mlirad.runtime.derivative_kind import ADJOINT, DerivativeKind
from mlirad.runtime.explanation import Row
from mlirad.runtime.footprints import Flow


class RecordedTransfer(Entry, msgspec.Struct, metaclass=AbstractStruct):
    """A transfer, its number, and what it chose; `kinds` are the derivatives that go back."""

    transfer: Transfer
    number: int
    decision: Decision
    carries: bool  # a derivative, in this process or in another
    passes: Sequence[Flow]
    place: str
    saved: list[Version]
    kinds: Sequence[DerivativeKind]

    is_copy = True

    def _derivative(self, target: Target, kind: DerivativeKind) -> Target:
        if self.outer_adjoints is not None and isinstance(target, Field):
            kind = self.outer_adjoints.kind(target, kind)
        return derivative_of(target, kind)

    def flows(self) -> Sequence[Flow]:
        return self.passes

    def arrays(self) -> Sequence[ArrayBuffer]:
        return list(arrays_of(self.transfer).values())

    def reverse(self) -> None:
        """The adjoints of what arrived go to where it came from."""
        transfer = self.transfer
        if not self.carries:
            self._forget()
            return
        transfer.agree(Pass.REVERSE, self.number, True)
        for kind in self.kinds:
            arrived = [
                (piece, self._derivative(piece.target, kind))
                for piece in transfer.targets
                if piece.is_float
            ]
            adjoints = [read(piece, derivative) for piece, derivative in arrived]
            for piece, derivative in arrived:
                clear(piece, derivative)
            added = transfer.pull(adjoints, self.decision)
            sources = [piece for piece in transfer.sources if piece.is_float]
            for piece, values in zip(sources, added, strict=True):
                add(piece, self._derivative(piece.target, kind), values)

    def _forget(self) -> None:
        """Clear the adjoints of what arrived: what was there before has no influence any more."""
        for piece in self.transfer.targets:
            for kind in self.kinds:
                target = piece.target
                if isinstance(target, Field) and target.existing(kind) is not None:
                    clear(piece, self._derivative(target, kind))
                elif isinstance(target, Ndarray) and target.grad is not None:
                    clear(piece, derivative_of(target, kind))

    def rows(self) -> Sequence[Row]:
        size = self.transfer.kept_bytes(self.decision)
        return [Row(self.transfer.name, self.place, self.place, "kept", size)] if size else []

    def __str__(self) -> str:
        return f"{self.transfer.name} at {self.place}"

    def repeat(self) -> None:
        self.transfer.agree(Pass.AGAIN, self.number, self.carries)
        self.decision = self.transfer.run()


def record_transfer(ledger: Ledger, transfer: Transfer, number: int, *, is_cut: bool) -> None:
    """Carry out a transfer and record it; `is_cut` if no derivative may pass."""
    order, place = ledger.order, caller()
    carries = carries_derivative(ledger, transfer, number, place, is_cut=is_cut)
    if carries:
        order.prepare_fields([target for target in transfer.arrays if isinstance(target, Field)])
    arrays = [target for target in transfer.arrays if isinstance(target, Ndarray)]
    order.use_arrays([target for target in arrays if target.grad is not None])
    ledger.keeper.transfer()
    saved = before_targets(ledger, transfer, place)
    order.before_transfer(transfer)
    decision = transfer.run()
    order.transfer(transfer, decision, carries)
    passes = flows_of(ledger, transfer, place) if carries else ()
    ledger.add(
        RecordedTransfer(transfer, number, decision, carries, passes, place, saved, order.copied)
    )


def carries_derivative(
    ledger: Ledger, transfer: Transfer, number: int, place: str, *, is_cut: bool
) -> bool:
    """Return whether a transfer carries a derivative, in any process; then all that it is about has
    a gradient."""
    sent = transfer.sent if transfer.is_float and not is_cut else ()
    may_carry = any(has_gradient(ledger, target) for target in sent)
    carries = transfer.agree(Pass.TAPE, number, may_carry)
    if carries:
        symbols = [target.symbol for target in transfer.arrays if isinstance(target, Field)]
        ledger.give_gradients(symbols, place)
        for target in transfer.arrays:
            derivative_of(target, ADJOINT)
    ledger.claims.use_arrays([target for target in transfer.arrays if isinstance(target, Ndarray)])
    return carries


def has_gradient(ledger: Ledger, target: Target) -> bool:
    """Return whether a field or an ndarray may pass a derivative on."""
    if isinstance(target, Ndarray):
        return target.grad is not None or ledger.arrays.gradients.hidden_of(target) is not None
    return target.symbol in target.program.derivatives.adjoints


def arrays_of(transfer: Transfer) -> dict[int, ArrayBuffer]:
    """The ndarrays that a transfer is about, by address."""
    arrays = [array for array in transfer.arrays if isinstance(array, Ndarray)]
    return {array.address: array_buffer(array, "", True) for array in arrays}


def before_targets(ledger: Ledger, transfer: Transfer, place: str) -> list[Version]:
    """Copy what a transfer overwrites of what earlier reverses read."""
    saved: list[Version] = []
    for piece in transfer.targets:
        key, elements, _ = memory_of(piece.target)
        box = box_of_piece(piece)
        ledger.keeper.write(key, elements, box)
        saved += ledger.versions.before_write(key, elements, box, place)
    return saved


def box_of_piece(piece: Piece) -> Box:
    """The box of a piece, in the axes in which launches have theirs."""
    return touched_box(piece.target, None) if piece.box is None else piece.box


def flows_of(ledger: Ledger, transfer: Transfer, place: str) -> list[Flow]:
    """Return flows from all that is sent to all that is reached."""

    def name(target: Target) -> object:
        if isinstance(target, Field):
            return target.symbol
        return ledger.arrays.table.know(array_buffer(target, "array", True), transfer.name)

    sources = tuple(map(name, transfer.sent))
    return [Flow(name(target), place, sources) for target in transfer.reached]
