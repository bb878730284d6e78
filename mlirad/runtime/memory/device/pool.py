"""Pieces of a device's memory that are used for a moment, over and over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from weakref import finalize

from mlirad.dialect.turn import free_in_forks
from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.device.driver import Driver

_SMALLEST, _IDLE = 256, 64 << 20  # bytes


class Pool:
    """Pieces that are idle are taken again: what is asked of a device happens in one order, so what
    the last user asked for is done before the next one's turn."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._idle: dict[int, list[int]] = {}  # addresses by size
        self._idle_bytes = 0
        self._turn = free_in_forks(RLock())
        finalize(self, _free_all, driver, self._idle).atexit = False

    @contextmanager
    def lent(self, size: int) -> Iterator[int]:
        """The address of so many bytes, which hold anything."""
        room = max(_SMALLEST, 1 << max(0, size - 1).bit_length())
        address = self._take(room)
        try:
            yield address
        finally:
            self._give_back(address, room)

    def release(self) -> None:
        """Give all that is idle back to the device."""
        with self._turn:
            _free_all(self._driver, self._idle)
            self._idle_bytes = 0

    def _take(self, room: int) -> int:
        with self._turn:
            idle = self._idle.get(room)
            if idle:
                self._idle_bytes -= room
                return idle.pop()
        try:
            return self._driver.allocate(room)
        except TaichiMemoryError:
            self.release()
            return self._driver.allocate(room)

    def _give_back(self, address: int, room: int) -> None:
        with self._turn:
            if self._idle_bytes + room <= _IDLE:
                self._idle.setdefault(room, []).append(address)
                self._idle_bytes += room
                return
        self._driver.free(address)


def _free_all(driver: Driver, idle: dict[int, list[int]]) -> None:
    for addresses in idle.values():
        while addresses:
            driver.free(addresses.pop())
