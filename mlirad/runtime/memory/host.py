"""Memory of the host: what a CPU computes on."""

from __future__ import annotations

import ctypes
import itertools
import zlib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.memory import (
    Allocation,
    Arena,
    DType,
    Elements,
    Index,
    Kept,
    Memory,
    Values,
)
from mlirad.runtime.memory.reserved import ADDRESS_SPACE, Reserved
from mlirad.runtime.memory.values import bits, part, same_bits

ALIGNMENT = 64
LARGE = 1 << 16
STAGGER, PLACES = 4096 + 5 * ALIGNMENT, 61
_FIRST, _LARGEST, _KEPT_ALIGNMENT = 1 << 14, 1 << 25, 16


class HostAllocation(Allocation):
    """Bytes at an aligned address.

    Large ones start at different places within a page: elements of the same index would meet in one
    set of the cache, and a loop over a field, its tangents and its adjoint reads all of them.
    """

    _large = itertools.count()

    def __init__(self, size: int) -> None:
        place = next(self._large) % PLACES * STAGGER if size >= LARGE else 0
        self._owner = np.zeros(size + ALIGNMENT + place, np.uint8)
        start = -self._owner.ctypes.data % ALIGNMENT + place
        self.data = self._owner[start : start + size]
        self.address = self.data.ctypes.data
        self.size = size

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0."""
        self.data[start : start + size] = 0


class LazyHostAllocation(HostAllocation):
    """Bytes of which only the pages that were written to take memory, at different places of a page
    as others are."""

    def __init__(self, size: int) -> None:
        start = next(self._large) % PLACES * STAGGER
        self._reserved, self._start = Reserved(size + start), start
        self.data = self._reserved.data[start:]
        self.address = self.data.ctypes.data
        self.size = size

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0, and give back pages."""
        self._reserved.discard(self._start + start, size)


class HostElements(Elements):
    """Elements as NumPy sees them."""

    __slots__ = ("_view",)

    def __init__(self, view: Values) -> None:
        self._view = view
        self.shape, self.dtype, self.nbytes = view.shape, view.dtype, view.nbytes
        self.address = view.__array_interface__["data"][0]

    def get(self, index: Index) -> Any:
        """A number of Python, or nested lists of them."""
        return self._view[index].tolist()

    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index."""
        self._view[index] = value

    def read(self, box: Box | None = None) -> Values:
        """A copy."""
        return self._part(box).copy()

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values."""
        self._part(box)[...] = values

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number."""
        if where is not None:
            self._part(box)[where] = value
        elif box is not None or not self._view.flags.c_contiguous:
            self._part(box)[...] = value
        elif value == 0:
            ctypes.memset(self.address, 0, self.nbytes)
        else:
            self._view.fill(value)

    def any(self) -> bool:
        """Whether one of the elements is not 0."""
        return bool(self._view.any())

    def checksum(self) -> int:
        """A CRC-32 of the bytes."""
        flat = np.ascontiguousarray(self._view).reshape(-1)
        return zlib.crc32(flat.view(np.uint8).data)

    def equals(self, values: Values, box: Box | None = None) -> bool:
        """Whether elements have the bits of values."""
        return same_bits(self._part(box), values)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        """A mask of the elements that have other bits."""
        return bits(self._part(box)) != bits(values)

    def take(self, other: Elements, box: Box | None = None) -> None:
        """Set elements to others."""
        self._part(box)[...] = _looked_at(other, box)

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        """Whether elements have the bits of others."""
        return self.equals(_looked_at(other, box), box)

    def add(self, other: Elements) -> None:
        """Add others."""
        self._view += _looked_at(other, None)

    def room(self) -> Kept:
        """Room for a copy."""
        return HostKept(self._view, np.empty(self.shape, self.dtype))

    def overlaps(self, other: Elements) -> bool:
        """Whether there are elements in common."""
        return isinstance(other, HostElements) and np.shares_memory(self._view, other._view)

    def _part(self, box: Box | None) -> Values:
        return self._view if box is None else part(self._view, box)


def _looked_at(elements: Elements, box: Box | None) -> Values:
    return elements._part(box) if isinstance(elements, HostElements) else elements.read(box)


class HostKept(Kept):
    """A view, and a copy of what it showed."""

    __slots__ = ("_copy", "_view")

    def __init__(self, view: Values, copy: Values) -> None:
        self._view, self._copy, self.nbytes = view, copy, copy.nbytes

    @property
    def place(self) -> Hashable:
        """Where the elements are."""
        return self._view.__array_interface__["data"][0], self._view.shape, self._view.strides

    def renew(self) -> None:
        """Hold the elements as they are now."""
        np.copyto(self._copy, self._view)

    def restore(self) -> None:
        """Let memory hold the kept elements."""
        self._view[...] = self._copy

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        memory = self._view.copy()
        self._view[...] = self._copy
        self._copy[...] = memory

    def add(self) -> None:
        """Add the kept elements to those in memory."""
        self._view += self._copy

    def differs(self) -> bool:
        """Whether memory holds other bits now."""
        return self._copy.tobytes() != self._view.tobytes()

    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now."""
        return arena.keep(HostElements(self._view), None, name)


class HostArena(Arena):
    """Copies in blocks that double in size, so that few pages are asked for anew."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._block = np.empty(0, np.uint8)
        self._used = 0

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        """A copy of elements."""
        assert isinstance(elements, HostElements)
        view = elements._view if box is None else part(elements._view, box)
        start = -(-self._used // _KEPT_ALIGNMENT) * _KEPT_ALIGNMENT
        if start + view.nbytes > self._block.nbytes:
            size = min(max(2 * self._block.nbytes, _FIRST), _LARGEST)
            self._block, start = np.empty(max(size, view.nbytes), np.uint8), 0
            self._capacity.lend(
                self._block,
                f"what a tape keeps of {name} and others (ti.ad.checkpointed keeps less)",
            )
        self._used = start + view.nbytes
        found = self._block[start : self._used].view(view.dtype).reshape(view.shape)
        found[...] = view
        return HostKept(view, found)


class HostMemory(Memory):
    """The memory that Python itself uses."""

    def allocate(self, size: int, *, lazily: bool = False) -> HostAllocation:
        """Zeroed bytes."""
        return LazyHostAllocation(size) if lazily else HostAllocation(size)

    def elements(
        self,
        allocation: Allocation,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
    ) -> Elements:
        """Elements in an allocation."""
        assert isinstance(allocation, HostAllocation)
        return HostElements(np.ndarray(shape, dtype, allocation.data.data, offset, strides))

    def array(self, dtype: DType, shape: Sequence[int]) -> Elements:
        """An array of zeros."""
        return HostElements(np.zeros(shape, dtype))

    def given(self, values: Values) -> Elements:
        """The user's array itself."""
        return HostElements(values)

    @property
    def is_apart(self) -> bool:
        """It is Python's."""
        return False

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """DLPack's kDLCPU."""
        return 1, 0

    @property
    def stream(self) -> int | None:
        """There are none."""
        return None

    def elements_at(
        self, address: int, dtype: DType, shape: Sequence[int], owner: object
    ) -> Elements | None:
        """What is on the host is NumPy's, or becomes it."""
        return None

    def arena(self, capacity: Capacity) -> Arena:
        """Room for many copies."""
        return HostArena(capacity)

    def capacity(self) -> Capacity:
        """What this process may have."""
        return Capacity(address_space=ADDRESS_SPACE)
