"""Zeros for derivatives on a device that are written when somebody looks at them."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ir.memory.large_arrays import LEAST
from mlirad.runtime.boxes import Box, within_shape
from mlirad.runtime.memory.deferred_writes import Backlog, Ends, LaterWrites
from mlirad.runtime.memory.device.strided import Strided
from mlirad.runtime.memory.device.transfers import Transfers


class DeferredZeros(LaterWrites):
    """Zeros for all elements of an array that lie side by side, or none."""

    __slots__ = ("_backlog", "_place", "_transfers")

    def __init__(self, transfers: Transfers, place: Strided) -> None:
        self._transfers, self._place = transfers, place
        self._backlog: Backlog | None = None  # that the array is in

    def __bool__(self) -> bool:
        return self._backlog is not None

    @property
    def are_possible(self) -> bool:
        return self._place.is_packed and self._place.nbytes >= LEAST

    def clear(self, backlog: Backlog) -> bool:
        if not self.are_possible:
            return False
        with backlog.lock:
            self._backlog = backlog
            backlog.arrays.add(self)
        return True

    def finish(self, rows: Sequence[Ends] | None = None) -> None:
        """Write them, whatever the rows: that is one request."""
        backlog = self._backlog
        if backlog is None:
            return
        with backlog.lock:
            if self._backlog is not None:
                self._transfers.clear(self._place.address, self._place.nbytes)
                self._forget(backlog)

    def drop(self) -> bool:
        """All elements are about to be set: forget zeros; whether there were any."""
        backlog = self._backlog
        if backlog is None:
            return False
        with backlog.lock:
            self._forget(backlog)
        return True

    def drop_box(self, box: Box) -> None:
        shape = self._place.shape
        if within_shape(box, shape) == tuple((0, extent - 1) for extent in shape):
            self.drop()

    def drop_zeros(self, rows: Ends | None = None) -> bool:
        return rows is None and self.drop()

    def release_copies(self) -> None:
        """Do nothing: there are none."""

    def _forget(self, backlog: Backlog) -> None:
        self._backlog = None
        backlog.arrays.discard(self)
