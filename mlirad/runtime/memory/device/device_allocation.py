"""Bytes of a device, given back when nobody has them any more."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Protocol
from weakref import finalize

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.device.read_ahead import ReadAhead
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import Allocation

_PADDING = 16  # bytes: what updates small elements, updates words


class Source(Protocol):
    """The source of the bytes of allocations."""

    def obtain(self, size: int) -> int:
        """The address of so many bytes."""

    def release(self, address: int) -> None:
        """Take back what `obtain` gave."""

    def clear(self, address: int, size: int) -> None:
        """Set bytes to 0."""


class DeviceAllocation(Allocation):
    """Bytes of a device, which hold anything until they are cleared; those of a source of their own
    hold zeros."""

    def __init__(self, transfers: Transfers, size: int, source: Source | None = None) -> None:
        self.size, self._transfers = size, transfers
        self._source = source = Plain(transfers) if source is None else source
        self.nbytes = max(1, -(-size // _PADDING)) * _PADDING
        self.address = _obtain(transfers, source.obtain, self.nbytes)
        finalize(self, source.release, self.address).atexit = False
        self.read_ahead = ReadAhead(transfers, self.address, self.nbytes)

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0."""
        self._source.clear(self.address + start, size)
        self._transfers.changes += 1


class Plain:
    """Memory as the driver allocates it."""

    def __init__(self, transfers: Transfers) -> None:
        driver = transfers.driver
        self.obtain, self.release, self.clear = driver.allocate, driver.free, transfers.clear


class Reserving:
    """Memory that the driver has where something was written."""

    def __init__(self, transfers: Transfers) -> None:
        driver = transfers.driver
        self.obtain, self.release, self.clear = driver.reserve, driver.free, driver.discard


def _obtain(transfers: Transfers, obtain: Callable[[int], int], size: int) -> int:
    """The address of bytes of a device, if need be of those that nobody can reach any more."""
    try:
        return obtain(size)
    except TaichiMemoryError:
        gc.collect()
        transfers.pool.release()
        return obtain(size)
