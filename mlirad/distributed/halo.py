"""Exchanges between neighbors on a grid, as linear maps with their transposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
import numpy as np

from mlirad.distributed.collectives import carry_out
from mlirad.distributed.ranks import Ranks
from mlirad.distributed.transfers import Linear
from mlirad.errors import TaichiRuntimeError
from mlirad.lang.field.field import Field
from mlirad.lang.transfer import Decision, Pass, Piece, read
from mlirad.runtime.boxes import Box

Array = np.ndarray[Any, Any]


class Link(msgspec.Struct, frozen=True):
    """A neighbor `step` away: the cells that it has in its halo, and those of it in ours."""

    step: tuple[int, ...]
    peer: int
    owned: Box
    beyond: Box

    @property
    def tag(self) -> int:
        """A number for the direction."""
        return sum((step + 1) * 3**axis for axis, step in enumerate(self.step))

    @property
    def tag_back(self) -> int:
        """A number for the opposite direction."""
        return sum((1 - step) * 3**axis for axis, step in enumerate(self.step))


class Cells(Protocol):
    """The interface of a grid for exchanges."""

    shape: tuple[int, ...]

    def links(self) -> list[Link]:
        """The neighbors."""


class NeighbourTransfer(Linear):
    """A message to each neighbor and one from it, for each of some fields."""

    kind: str

    def __init__(self, ranks: Ranks, grid: Cells, fields: Sequence[Field]) -> None:
        links = grid.links()
        self._links = [(number, link) for number in range(len(fields)) for link in links]
        all_elements = ((None, None),)
        owned, beyond = (
            [
                Piece(fields[n], (*box, *all_elements * len(fields[n].element_shape)))
                for n, box in boxes
            ]
            for boxes in (
                [(n, link.owned) for n, link in self._links],
                [(n, link.beyond) for n, link in self._links],
            )
        )
        forms = ", ".join(f"{field.dtype}{list(field.element_shape) or ''}" for field in fields)
        text = f"{self.kind} of {forms} on a grid of {grid.shape}"
        self.owned, self.beyond = owned, beyond
        super().__init__(ranks, self.kind, text, owned, beyond, fields, fields)

    def post(self, values: Sequence[Array], back: bool = False) -> Callable[[], Sequence[Array]]:
        """Send what is in the cells that neighbors have in their halo, or `back` what is in ours;
        what waits for what they send, in the order of the links."""
        into = self.owned if back else self.beyond
        buffers = [_room(piece) for piece in into]
        sends, receives = [], []
        for (number, link), value, room in zip(self._links, values, buffers, strict=True):
            base = 27 * number
            sends.append((link.peer, base + link.tag, np.ascontiguousarray(value)))
            receives.append((link.peer, base + link.tag_back, room))
        finish = self.ranks.post(sends, receives)

        def wait() -> Sequence[Array]:
            finish()
            return buffers

        return wait


class Exchange(NeighbourTransfer):
    """Halos get what their owners have: in transposition, owners add what halos have."""

    kind = "exchange"

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Return the values of halos."""
        return self.post(values)()

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Return the adjoints of owners."""
        return self.post(adjoints, back=True)()


class Collection(NeighbourTransfer):
    """Owners add what halos have, which become 0: in transposition, halos get what owners have.

    All that is read is written: sources and targets are the cells of owners, then those of halos,
    whose adjoints the sweep has taken and cleared.
    """

    kind = "collect"

    def __init__(self, ranks: Ranks, grid: Cells, fields: Sequence[Field]) -> None:
        super().__init__(ranks, grid, fields)
        pieces = [Piece(field) for field in fields]
        self.sources = self.targets = pieces

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Fields with what their halos brought."""
        arrays = [value.copy() for value in values]
        halos = [arrays[n][_slices(link.beyond)].copy() for n, link in self._links]
        for n, link in self._links:
            arrays[n][_slices(link.beyond)] = 0
        for (n, link), came in zip(self._links, self.post(halos, back=True)()):
            arrays[n][_slices(link.owned)] += came
        return arrays

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Adjoints, with those of owners in the halos."""
        arrays = [adjoint.copy() for adjoint in adjoints]
        owned = [arrays[n][_slices(link.owned)].copy() for n, link in self._links]
        for (n, link), came in zip(self._links, self.post(owned)()):
            arrays[n][_slices(link.beyond)] = came
        return arrays


class Flight:
    """An exchange that has begun. It is recorded when it ends."""

    def __init__(self, transfer: Exchange) -> None:
        self._transfer = transfer
        transfer.ranks.agree(f"the beginning of {transfer.text}")
        self._sent = self._read()
        self._wait: Callable[[], Sequence[Array]] | None = transfer.post(self._sent)

    def _read(self) -> list[Array]:
        return [read(piece, piece.target) for piece in self._transfer.sources]

    def finish(self) -> None:
        """Wait for the neighbors, and fill the halo. Raises TaichiRuntimeError if the cells
        that were sent have been written since, or where it was called before."""
        if self._wait is None:
            raise TaichiRuntimeError("this exchange has been finished")
        came, self._wait = self._wait(), None
        if any(not _are_equal(sent, now) for sent, now in zip(self._sent, self._read())):
            raise TaichiRuntimeError(
                "cells of a field were written between Grid.begin and finish that were being sent: "
                "write only to cells farther than the halo from the block's faces, or begin later"
            )
        carry_out(ArrivedExchange(self._transfer, came))


class ArrivedExchange(Linear):
    """An exchange whose messages have arrived: what is done again is the exchange."""

    def __init__(self, transfer: Exchange, came: Sequence[Array]) -> None:
        super().__init__(
            transfer.ranks,
            transfer.name,
            transfer.text,
            transfer.sources,
            transfer.targets,
            transfer.sent,
            transfer.reached,
        )
        self._exchanged, self._came = transfer, list(came)

    def agree(self, why: Pass, number: int, carries: bool) -> bool:
        """Return whether a derivative passes in one of the ranks."""
        return self._exchanged.agree(why, number, carries)

    def apply(self, values: Sequence[Array]) -> tuple[Sequence[Array], Decision]:
        """Return what has arrived, the first time."""
        if self._came:
            arrived, self._came = self._came, []
            return arrived, None
        return self.forward(values), None

    def forward(self, values: Sequence[Array]) -> Sequence[Array]:
        """Return the values of halos."""
        return self._exchanged.forward(values)

    def pull(self, adjoints: Sequence[Array], decision: Decision) -> Sequence[Array]:
        """Return the adjoints of owners."""
        return self._exchanged.pull(adjoints, decision)


def _room(piece: Piece) -> Array:
    assert piece.box is not None
    extents = (*piece.target.shape, *piece.target.element_shape)
    shape = [
        extent if low is None or high is None else high - low + 1
        for extent, (low, high) in zip(extents, piece.box)
    ]
    return np.empty(shape, piece.target.dtype.numpy)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(low, None if high is None else high + 1) for low, high in box)


def _are_equal(left: Array, right: Array) -> bool:
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))
