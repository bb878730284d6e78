"""Zeros for derivatives on a device that are written when somebody looks at them."""

from __future__ import annotations

from mlirad.runtime.boxes import KnownBox
from mlirad.runtime.memory.deferred_writes import LaterWrites, Write
from mlirad.runtime.memory.device.strided import Strided
from mlirad.runtime.memory.device.transfers import Transfers


class DeferredZeros(LaterWrites):
    """Zeros for all elements of an array that lie side by side, or none."""

    __slots__ = ("_place", "_transfers")

    def __init__(self, transfers: Transfers, place: Strided) -> None:
        super().__init__(place.shape, place.nbytes, in_rows=False)
        self._transfers, self._place = transfers, place

    @property
    def are_possible(self) -> bool:
        return self._place.is_packed and super().are_possible

    def _do(self, write: Write) -> None:
        self._transfers.clear(self._place.address, self._place.nbytes)  # one request

    def _set_to_zero(self, box: KnownBox) -> None:
        raise AssertionError("code for devices writes zeros itself")

    def release_copies(self) -> None:
        """Do nothing: there are none."""
