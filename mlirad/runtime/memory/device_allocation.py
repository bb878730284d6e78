"""Bytes of a device, given back when nobody has them any more."""

from __future__ import annotations

import gc
from weakref import finalize

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.memory import Allocation
from mlirad.runtime.memory.read_ahead import ReadAhead
from mlirad.runtime.memory.transfers import Transfers

_PADDING = 16  # bytes: what updates small elements, updates words


class DeviceAllocation(Allocation):
    """Bytes of a device, which hold anything until they are cleared."""

    def __init__(self, transfers: Transfers, size: int) -> None:
        self.size, self._transfers = size, transfers
        self.nbytes = max(1, -(-size // _PADDING)) * _PADDING
        self.address = _allocated(transfers, self.nbytes)
        finalize(self, transfers.driver.free, self.address).atexit = False
        self.read_ahead = ReadAhead(transfers, self.address, self.nbytes)

    def clear(self) -> None:
        """Set all bytes to 0."""
        self._transfers.clear(self.address, self.nbytes)


def _allocated(transfers: Transfers, size: int) -> int:
    """The address of bytes of a device, if need be of those that nobody can reach any more."""
    try:
        return transfers.driver.allocate(size)
    except TaichiMemoryError:
        gc.collect()
        transfers.pool.release()
        return transfers.driver.allocate(size)
