"""The memory of a pool of pages: its header, the pages, and the numbers of those that are free."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from mlirad.errors import TaichiMemoryError
from mlirad.ir.memory.pages import ENTRY, FIRST, PAGE, TREES, Word
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.values import Values

_WORD = 8  # bytes
_LEAST_READY = 64 << 20  # bytes of free pages that a launch finds
_SHARE = 8  # of the device's memory, which is ready if there is as much


class PoolMemory:
    """Pages in addresses that were reserved for all that the device has, and are committed as they
    are needed. Those which may be taken are in a ring, where a launch takes the next ones; the host
    puts others behind."""

    def __init__(self, driver: Driver) -> None:
        addresses = driver.addresses
        assert addresses is not None
        self._driver, self._addresses = driver, addresses
        total = driver.total_memory()
        self._wanted = max(_LEAST_READY, total // _SHARE)
        self._room = 1 << max(0, total // PAGE - 1).bit_length()  # numbers of pages
        self._granule = addresses.granule
        self._size = -(-total // self._granule) * self._granule
        self.committed = 0  # bytes
        self.lent = self.offered = 0  # pages, since the pool is there
        with ExitStack() as stack:
            self.header = driver.allocate((Word.ROOTS + TREES) * _WORD)
            stack.callback(driver.free, self.header)
            self._ring = driver.allocate(self._room * ENTRY)
            stack.callback(driver.free, self._ring)
            self.pages = addresses.reserve(self._size)
            stack.callback(addresses.release, self.pages)
            addresses.commit(self.pages, self._granule)
            self.close = stack.pop_all().close  # gives everything back
        driver.fill(self.header, 0, (Word.ROOTS + TREES) * _WORD)
        self.set_word(Word.PAGES, self.pages - self.header)
        self.set_word(Word.RING, self._ring - self.header)
        self.set_word(Word.MASK, self._room - 1)
        self._add(self._granule)

    @property
    def ready(self) -> int:
        """Return the bytes of pages that are free."""
        return (self.offered - self.lent) * PAGE

    @property
    def bytes_in_use(self) -> int:
        """Return the bytes of pages that were taken."""
        return self.committed - self.ready

    def set_word(self, word: int, value: int) -> None:
        """Set a word of the header."""
        self._write(self.header + word * _WORD, np.array([value], np.int64))

    def read_counts(self) -> int:
        """Look how many pages were taken; how many more could not be, of which nothing remains."""
        counts = self.read(self.header + Word.TAKEN * _WORD, 3 * _WORD).view(np.int64)
        lent, offered, refused = counts.tolist()
        self.lent = min(lent, offered)
        if refused:
            self.set_word(Word.TAKEN, self.lent)
            self.set_word(Word.REFUSED, 0)
        return int(refused)

    def read(self, address: int, size: int) -> Values:
        """Bytes of the device."""
        values = np.empty(size, np.uint8)
        self._driver.read(values.ctypes.data, address, size)
        return values

    def make_ready(self) -> None:
        """Commit more pages, as far as the device has memory, if few are free."""
        if 2 * self.ready >= self._wanted:
            return
        size = min(self._wanted - self.ready, self._driver.free_memory() // 2)
        size = min(size, self._size - self.committed) // self._granule * self._granule
        while size:
            try:
                self._addresses.commit(self.pages + self.committed, size)
            except TaichiMemoryError:
                size = size // 2 // self._granule * self._granule
                continue
            return self._add(size)

    def _add(self, size: int) -> None:
        """Offer pages that are new."""
        self._driver.fill(self.pages + self.committed, 0, size)
        first = self.committed // PAGE
        self.committed += size
        self.offer(np.arange(max(first, FIRST), self.committed // PAGE, dtype=np.int32))

    def offer(self, pages: Values) -> None:
        """Put pages, which hold zeros, behind those that are free."""
        position = self.offered % self._room
        in_front = pages[: self._room - position]
        self._write(self._ring + position * ENTRY, in_front)
        self._write(self._ring, pages[len(in_front) :])
        self.offered += len(pages)
        self.set_word(Word.OFFERED, self.offered)

    def _write(self, address: int, values: Values) -> None:
        if values.size:
            source = np.ascontiguousarray(values)
            self._driver.write(address, source.ctypes.data, source.nbytes)
