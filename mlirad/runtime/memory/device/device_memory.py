"""The memory of a device: what is there stays there, and Python asks for what it wants to see."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.ir.memory.pages import BYTE_BITS
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import Capacity
from mlirad.runtime.memory.device.deferred_zeros import DeferredZeros
from mlirad.runtime.memory.device.device_allocation import DeviceAllocation, Reserving
from mlirad.runtime.memory.device.device_elements import DeviceElements, DeviceKept
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.device.pages.page_pool import PagePool
from mlirad.runtime.memory.device.services import Services
from mlirad.runtime.memory.device.sparse_device import SparseDeviceElements
from mlirad.runtime.memory.device.strided import Strided, contiguous
from mlirad.runtime.memory.device.transfers import SMALL, Transfers
from mlirad.runtime.memory.host.host_elements import HostElements
from mlirad.runtime.memory.host.host_memory import HostArena
from mlirad.runtime.memory.memory import Allocation, Arena, DType, Elements, Kept, Memory, Nesting
from mlirad.runtime.memory.sparse.sparse_elements import TouchedKept
from mlirad.runtime.memory.values import Values

_FIRST, _LARGEST = 1 << 16, 1 << 25  # bytes of a block of copies
_LENT = "what a tape keeps of {} (ti.ad.checkpointed keeps less)"
_LINE, _ALIGNMENT = 256, 16  # bytes, where copies begin: large ones, small ones


class DeviceMemory(Memory):
    """The memory of a driver. `small`: bytes that are not worth a launch. What is committed lazily,
    and has `paged_from` bytes or more, lies in pages, if that is given."""

    def __init__(
        self,
        driver: Driver,
        services: Services,
        *,
        small: int = SMALL,
        paged_from: int | None = None,
    ) -> None:
        self.driver = driver
        self.transfers = Transfers(driver, services, small)
        self.pages = PagePool(self.transfers)
        self._paged_from = paged_from

    def allocate(self, size: int, *, lazily: bool = False) -> DeviceAllocation:
        if lazily and self._paged_from is not None and size >= self._paged_from:
            return DeviceAllocation(self.transfers, size, self.pages)
        if lazily:
            return DeviceAllocation(self.transfers, size, Reserving(self.transfers))
        allocation = DeviceAllocation(self.transfers, size)
        allocation.clear()
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
        place = Strided(allocation.address + offset, tuple(shape), tuple(strides), dtype.itemsize)
        if nesting is not None:
            assert isinstance(allocation, DeviceAllocation)
            return SparseDeviceElements(self.transfers, place, dtype, allocation, nesting)
        zeros = DeferredZeros(self.transfers, place)
        return DeviceElements(self.transfers, place, dtype, allocation, zeros)

    def wrap(self, values: Values) -> Elements:
        """The user's array, on the host: each launch takes it to the device, and what it wrote
        back."""
        return HostElements(values)

    @property
    def is_apart(self) -> bool:
        return True

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return self.driver.dlpack_device

    @property
    def stream(self) -> int | None:
        return self.driver.stream

    def elements_at(
        self, address: int, dtype: DType, shape: Sequence[int], owner: object
    ) -> Elements | None:
        """Elements that somebody else put on the device."""
        if not self.driver.holds(address):
            return None
        place = contiguous(address, shape, dtype.itemsize)
        return DeviceElements(self.transfers, place, dtype, owner)

    def arena(self, capacity: Capacity, *, apart: bool = False) -> Arena:
        return DeviceArena(self.transfers, capacity, apart=apart)

    def capacity(self) -> Capacity:
        """Return the capacity of the device."""
        paged = None if self._paged_from is None else 1 << BYTE_BITS
        return Capacity(
            self.driver.total_memory,
            self.driver.free_memory,
            "the device's memory",
            address_space=self.driver.address_space or paged,
        )


class DeviceArena(Arena):
    """Copies in blocks that double in size, or `apart`, each in one of its own; those of the user's
    arrays, on the host."""

    def __init__(self, transfers: Transfers, capacity: Capacity, *, apart: bool = False) -> None:
        self._transfers, self._capacity, self._apart = transfers, capacity, apart
        self._host = HostArena(Capacity(), apart=apart)
        self._block: DeviceAllocation | None = None
        self._size = _FIRST
        self._used = 0

    def keep(self, elements: Elements, box: Box | None, name: str) -> Kept:
        """A copy of elements."""
        if not isinstance(elements, DeviceElements):
            return self._host.keep(elements, box, name)
        if isinstance(elements, SparseDeviceElements):
            touched = TouchedKept(elements)
            touched.renew()
            self._capacity.lend(touched, _LENT.format(name))
            return touched
        box_elements = elements.part(box)
        copy = DeviceKept(box_elements, *self._room(box_elements.nbytes, name))
        copy.renew()
        return copy

    def _room(self, size: int, name: str) -> tuple[DeviceAllocation, int]:
        """A block, and where in it there is room."""
        if self._apart:
            return self._new_block(size, name), 0
        step = _LINE if size >= _LINE else _ALIGNMENT
        start = -(-self._used // step) * step
        if self._block is None or start + size > self._block.size:
            self._block, start = self._new_block(max(self._size, size), name), 0
            self._size = min(2 * self._size, _LARGEST)
        self._used = start + size
        return self._block, start

    def _new_block(self, size: int, name: str) -> DeviceAllocation:
        block = DeviceAllocation(self._transfers, size)
        self._capacity.lend(block, _LENT.format(f"{name} and others"))
        return block
