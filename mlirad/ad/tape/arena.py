"""The memory of what a tape keeps: few large blocks, which are given back with the last array in
them."""

from __future__ import annotations

import numpy as np

from mlirad.runtime.capacity import Capacity

Array = np.ndarray
_FIRST, _LARGEST, _ALIGNMENT = 1 << 14, 1 << 25, 16


class Arena:
    """Copies of arrays, one behind the other in blocks that double in size, so that few pages are
    asked for anew."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._block = np.empty(0, np.uint8)
        self._used = 0

    def copy(self, values: Array, name: str) -> Array:
        """A copy of an array, of its shape and type. Raises TaichiMemoryError, with a name, where
        there is no room for it."""
        start = -(-self._used // _ALIGNMENT) * _ALIGNMENT
        if start + values.nbytes > self._block.nbytes:
            size = min(max(2 * self._block.nbytes, _FIRST), _LARGEST)
            self._block, start = np.empty(max(size, values.nbytes), np.uint8), 0
            self._capacity.lend(
                self._block,
                f"what a tape keeps of {name} and others (ti.ad.checkpointed keeps less)",
            )
        self._used = start + values.nbytes
        found = self._block[start : self._used].view(values.dtype).reshape(values.shape)
        found[...] = values
        return found
