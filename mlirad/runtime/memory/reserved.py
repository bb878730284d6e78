"""Bytes that the operating system commits page by page, as they are written to."""

from __future__ import annotations

import mmap
import sys

import numpy as np

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.memory.values import Values

ADDRESS_SPACE = 1 << 46  # bytes that a process may reserve, about: half of what it has
_NORESERVE = 0x4000 if sys.platform == "linux" else 0  # mmap has no name for it before Python 3.13


class Reserved:
    """Zeros, of which only the pages that were written to take memory. Pages are small ones, or a
    byte would take two megabytes."""

    def __init__(self, size: int) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
        try:
            self._pages = mmap.mmap(-1, size, flags=flags)
        except (OSError, OverflowError) as error:
            raise TaichiMemoryError(
                f"{size} bytes ({size / 2**40:.2f} TiB) of address space are not available: {error}"
            ) from None
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            self._pages.madvise(mmap.MADV_NOHUGEPAGE)
        self.data: Values = np.frombuffer(self._pages, np.uint8)

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0, and give back the pages of which they are all."""
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (start + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if sys.platform != "linux" or last <= first:
            self.data[start : start + size] = 0
            return
        self.data[start:first] = 0
        self.data[last : start + size] = 0
        self._pages.madvise(mmap.MADV_DONTNEED, first, last - first)
