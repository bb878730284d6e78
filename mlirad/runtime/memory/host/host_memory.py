"""Memory of the host: what a CPU computes on."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from threading import RLock
from weakref import WeakSet

import numpy as np

from mlirad.dialect.turn import free_in_forks
from mlirad.runtime.boxes import Box, within_shape
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.blocks import Blocks
from mlirad.runtime.memory.deferred_writes import Room
from mlirad.runtime.memory.host.host_elements import HostElements, HostKept
from mlirad.runtime.memory.host.sparse_host import SparseHostElements
from mlirad.runtime.memory.memory import (
    Allocation,
    Arena,
    DType,
    Elements,
    Kept,
    Memory,
    Nesting,
    Values,
)
from mlirad.runtime.memory.reserved import ADDRESS_SPACE, Reserved
from mlirad.runtime.memory.short_axes import assign
from mlirad.runtime.memory.sparse.sparse_elements import TouchedKept

ALIGNMENT = 64
LARGE, LEAST_MOVED = 1 << 16, 1 << 20  # bytes
GUARD, _UNTOUCHED = 4 * ALIGNMENT, 0xA5  # bytes beside an allocation, and their value
STAGGER, PLACES = 4096 + 5 * ALIGNMENT, 61
_LENT = "what a tape keeps of {} and others (ti.ad.checkpointed keeps less)"
_SMALL_PART = 16  # of an array that is kept
_FIRST, _LARGEST, _KEPT_ALIGNMENT = 1 << 14, 1 << 25, 16


class HostAllocation(Allocation):
    """Bytes at an aligned address.

    Large ones start at different places within a page: elements of the same index would meet in one
    set of the cache, and a loop over a field, its tangents and its adjoint reads all of them.

    Guard bytes lie in front of them and behind, so that an element out of bounds is not in memory
    of Python's.
    """

    _large = itertools.count()

    def __init__(self, size: int) -> None:
        place = self.next_place() if size >= LARGE else 0
        room = np.zeros(size + ALIGNMENT + place + 2 * GUARD, np.uint8)
        self._lie_in(room, -room.ctypes.data % ALIGNMENT + place + GUARD, size)

    @classmethod
    def next_place(cls) -> int:
        """Return the number of bytes after an aligned address at which a large allocation
        starts."""
        return next(cls._large) % PLACES * STAGGER

    def _lie_in(self, room: Values, start: int, size: int) -> None:
        """Be some bytes of a room, with guard bytes beside them."""
        self.data = room[start : start + size]
        self.address, self.size = self.data.ctypes.data, size
        self._guards = room[start - GUARD : start], room[start + size :][:GUARD]
        for guard in self._guards:
            guard[...] = _UNTOUCHED
        self.room = Room(self.address, size)

    def overrun(self) -> bool:
        """Return whether guard bytes changed, and restore them."""
        touched = any((guard != _UNTOUCHED).any() for guard in self._guards)
        for guard in self._guards:
            guard[...] = _UNTOUCHED
        return touched

    def discard(self, start: int, size: int) -> None:
        self.data[start : start + size] = 0


class LazyHostAllocation(HostAllocation):
    """Bytes of which only the pages that were written to take memory, and those of the guard bytes,
    at different places of a page as others are."""

    def __init__(self, size: int) -> None:
        start = self.next_place() + GUARD
        self._reserved, self._start = Reserved(start + size + GUARD), start
        self._lie_in(self._reserved.data, start, size)

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0, and give back pages."""
        self._reserved.discard(self._start + start, size)


class HostArena(Arena):
    """Copies in blocks that double in size, so that few pages are asked for anew; or `apart`, each
    in a block of its own."""

    def __init__(
        self, capacity: Capacity, blocks: Blocks | None = None, *, apart: bool = False
    ) -> None:
        self._capacity, self._blocks, self._apart = capacity, blocks or Blocks(), apart
        self._block = np.empty(0, np.uint8)
        self._used = 0

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        """A copy of elements; of those in sparse blocks, of all that may differ from 0."""
        assert isinstance(elements, HostElements)
        if isinstance(elements, SparseHostElements):
            touched = TouchedKept(elements)
            touched.renew()
            self._capacity.lend(touched, _LENT.format(name))
            return touched
        if elements.deferred:
            elements.deferred.finish(None if not box else within_shape(box, elements.shape)[:1])
        view = elements.within(box)
        if self._apart:
            copy = np.empty(view.shape, view.dtype)
            self._capacity.lend(copy, _LENT.format(name))
            assign(copy, view)
            return HostKept(elements, box, copy)
        start = -(-self._used // _KEPT_ALIGNMENT) * _KEPT_ALIGNMENT
        if start + view.nbytes > self._block.nbytes:
            size = min(max(2 * self._block.nbytes, _FIRST), _LARGEST)
            self._block, start = self._blocks.take(max(size, view.nbytes)), 0
            self._capacity.lend(self._block, _LENT.format(name))
        self._used = start + view.nbytes
        copy = self._block[start : self._used].view(view.dtype).reshape(view.shape)
        assign(copy, view)
        return HostKept(elements, box, copy)


class HostMemory(Memory):
    """The memory that Python itself uses."""

    def __init__(self) -> None:
        self._blocks = Blocks()
        self._allocations, self._turn = WeakSet[HostAllocation](), free_in_forks(RLock())

    def allocate(self, size: int, *, lazily: bool = False) -> HostAllocation:
        allocation = LazyHostAllocation(size) if lazily else HostAllocation(size)
        with self._turn:
            self._allocations.add(allocation)
        return allocation

    def elements(
        self,
        allocation: Allocation,
        offset: int,
        dtype: DType,
        shape: Sequence[int],
        strides: Sequence[int],
        nesting: Nesting | None = None,
    ) -> Elements:
        assert isinstance(allocation, HostAllocation)
        view = np.ndarray(shape, dtype, allocation.data.data, offset, strides)
        if nesting is None:
            return HostElements(view, allocation.room, self._blocks)
        return SparseHostElements(view, nesting, allocation, allocation.room)

    def wrap(self, values: Values) -> Elements:
        return HostElements(values)

    @property
    def is_apart(self) -> bool:
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
        """Return None: elements on the host are NumPy's arrays, or become such."""
        return None

    def arena(self, capacity: Capacity, *, apart: bool = False) -> Arena:
        return HostArena(capacity, self._blocks, apart=apart)

    def holds(self, values: Values) -> bool:
        with self._turn:
            return any(
                np.may_share_memory(values, allocation.data) for allocation in self._allocations
            )

    def are_moved(self, size: int) -> bool:
        """Return whether copying takes longer than launches with changed addresses."""
        return size >= LEAST_MOVED

    def box_to_keep(self, elements: Elements, box: Box) -> Box | None:
        """Return no box if it has most elements of a large array, which lie side by side."""
        if not self.are_moved(elements.nbytes) or not isinstance(elements, HostElements):
            return box
        bounded = within_shape(box, elements.shape)
        count = prod([max(0, last - first + 1) for first, last in bounded])
        omitted = elements.nbytes - count * elements.dtype.itemsize
        is_most = omitted * _SMALL_PART <= elements.nbytes
        return None if is_most and elements.within(None).flags.c_contiguous else box

    def room_to_move(self, dtype: DType, shape: Sequence[int]) -> Values | None:
        """Bytes of a block, at another place of a page each time, with others on both sides."""
        size = dtype.itemsize * prod(shape)
        if not self.are_moved(size):
            return None
        block = self._blocks.take(size + ALIGNMENT + PLACES * STAGGER + 2 * GUARD)
        start = -block.ctypes.data % ALIGNMENT + HostAllocation.next_place() + GUARD
        return block[start : start + size].view(dtype).reshape(shape)

    def capacity(self) -> Capacity:
        return Capacity(address_space=ADDRESS_SPACE)
