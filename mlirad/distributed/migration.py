"""Particles that move from rank to rank, with all that they carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from mlirad.distributed.collectives import carry_out, check
from mlirad.distributed.ranks import Ranks, ranks
from mlirad.distributed.transfers import Communication
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.lang.field.field import Field
from mlirad.lang.transfer import Decision, Piece

Array = np.ndarray[Any, Any]


def migrate(count: Field, destination: Field, *fields: Field) -> None:
    """Move particles to the ranks that `destination` names. Derivatives move with the particles;
    the destinations have none.

    Args:
        count: a field; the first `count[None]` rows of each field are particles. It is updated.
        destination: an integer field with a rank for each particle.
        fields: the data of the particles, one row for each. Afterwards they hold the particles on
            this rank, ordered by the rank that they came from, then as before; other rows are 0.

    Raises:
        TaichiTypeError: the fields differ in length.
        TaichiRuntimeError: on all ranks, if a destination is not a rank, or a rank has too few
            rows.
    """
    check("migrate", count, destination, *fields)
    rows = destination.shape
    if count.shape != () or len(rows) != 1 or count.dtype.is_float or destination.dtype.is_float:
        raise TaichiTypeError(
            "migrate takes a 0-D field of integers, the number of particles, and a field of "
            "integers with a row for each, their ranks"
        )
    for field in fields:
        if field.shape != rows:
            raise TaichiTypeError(
                f"migrate: field '{field.symbol}' has shape {field.shape}, and the destinations "
                f"{rows}"
            )
    carry_out(Migration(ranks(), count, destination, fields))


class Moves(msgspec.Struct, frozen=True):
    """The rows that moved, in the order in which they were sent, and how many to each rank and from
    each."""

    order: Array
    sent: Array
    received: Array


class Migration(Communication):
    """Rows of fields that go to other ranks; it is linear in them."""

    def __init__(
        self, ranks: Ranks, count: Field, destination: Field, fields: Sequence[Field]
    ) -> None:
        forms = ", ".join(f"{field.dtype}{list(field.element_shape) or ''}" for field in fields)
        floats = [field for field in fields if field.dtype.is_float]
        self._rows = destination.shape[0]
        super().__init__(
            ranks,
            "migrate",
            f"migrate of {forms}",
            [Piece(field) for field in (count, destination, *fields)],
            [Piece(field) for field in (count, *fields)],
            floats,
            floats,
        )

    def apply(self, values: Sequence[Array]) -> tuple[Sequence[Array], Decision]:
        """The new number of particles and their rows, and who went."""
        count, destination, *rows = values
        moves = self._moves(int(count), destination)
        total = np.asarray(moves.received.sum(), count.dtype)
        return [total, *(self._forward(array, moves) for array in rows)], moves

    def push(self, tangents: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Tangents move with their particles."""
        return [self._forward(tangent, decision) for tangent in tangents]

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Adjoints go back."""
        results = []
        for adjoint in adjoints:
            back = self.ranks.to_each(adjoint, decision.received, decision.sent)
            result = np.zeros_like(adjoint)
            result[decision.order] = back
            results.append(result)
        return results

    def kept_bytes(self, decision: Decision) -> int:
        """A number for each particle, and two for each rank."""
        return int(decision.order.nbytes + decision.sent.nbytes + decision.received.nbytes)

    def _moves(self, count: int, destination: Array) -> Moves:
        size, there = self.ranks.size, destination[:count]
        order = np.argsort(there, kind="stable")
        is_bad = bool(((there < 0) | (there >= size)).any()) or not 0 <= count <= self._rows
        sent = np.bincount(np.clip(there, 0, size - 1), minlength=size).astype(np.int64)
        received = self.ranks.counts_of_each(sent)
        is_full = int(received.sum()) > self._rows
        if self.ranks.any_of(is_bad):
            raise TaichiRuntimeError(
                "migrate: a destination is not a rank, or there are more particles than rows"
            )
        if self.ranks.any_of(is_full):
            raise TaichiRuntimeError(
                f"migrate: more particles come to a rank than it has rows, {self._rows} in this one"
            )
        return Moves(order, sent, received)

    def _forward(self, rows: Array, moves: Moves) -> Array:
        result = np.zeros_like(rows)
        received = self.ranks.to_each(rows[moves.order], moves.sent, moves.received)
        result[: int(moves.received.sum())] = received
        return result
