"""Elements of an allocation that Python has read, and their neighbors, which it is likely to
request next."""

from __future__ import annotations

import numpy as np

from mlirad.runtime.memory.device.strided import Strided, contiguous
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.memory.values import Values

_BYTE = np.dtype(np.uint8)
_WINDOW = 1 << 14  # bytes, which come about as fast as one


class ReadAhead:
    """A piece of an allocation on the host, until memory changes."""

    def __init__(self, transfers: Transfers, address: int, size: int) -> None:
        self._transfers, self._address, self._size = transfers, address, size
        # when it was read, where it begins, and what was there: taken and replaced as one
        self._seen: tuple[int, int, Values] = -1, 0, np.empty(0, np.uint8)

    def read(self, place: Strided, dtype: DType) -> Values | None:
        """Elements as they are now; None for those that are too many to be read like this."""
        span = place.span
        if not 0 < span <= _WINDOW:
            return None
        start = place.address - self._address
        when, first, data = self._seen
        if when != self._transfers.changes or start < first or start + span > first + data.size:
            first, data = self._look(start, span)
        return np.ndarray(place.shape, dtype, data.data, start - first, place.strides)

    def _look(self, start: int, span: int) -> tuple[int, Values]:
        when = self._transfers.changes  # what changes from now on may be seen, or not
        first = start // _WINDOW * _WINDOW
        if start + span > first + _WINDOW:
            first = start
        size = min(_WINDOW, self._size - first)
        data = self._transfers.read(contiguous(self._address + first, (size,), 1), _BYTE)
        self._seen = when, first, data
        return first, data
