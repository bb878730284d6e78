"""Bytes of a device, given back when nobody has them any more."""

from __future__ import annotations

import gc
from collections.abc import Callable
from weakref import finalize

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.device.read_ahead import ReadAhead
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import Allocation

_PADDING = 16  # bytes: what updates small elements, updates words


class DeviceAllocation(Allocation):
    """Bytes of a device, which hold anything until they are cleared; those that are committed
    `lazily` hold zeros."""

    def __init__(self, transfers: Transfers, size: int, *, lazily: bool = False) -> None:
        self.size, self._transfers, self._lazily = size, transfers, lazily
        self.nbytes = max(1, -(-size // _PADDING)) * _PADDING
        driver = transfers.driver
        self.address = _obtain(
            transfers, driver.reserve if lazily else driver.allocate, self.nbytes
        )
        finalize(self, transfers.driver.free, self.address).atexit = False
        self.read_ahead = ReadAhead(transfers, self.address, self.nbytes)

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0."""
        clear = self._transfers.discard if self._lazily else self._transfers.clear
        clear(self.address + start, size)


def _obtain(transfers: Transfers, obtain: Callable[[int], int], size: int) -> int:
    """The address of bytes of a device, if need be of those that nobody can reach any more."""
    try:
        return obtain(size)
    except TaichiMemoryError:
        gc.collect()
        transfers.pool.release()
        return obtain(size)
