"""Elements on a device, and copies of them there."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.device.deferred_zeros import DeferredZeros
from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.strided import Strided
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import Arena, DType, Elements, Index, Kept
from mlirad.runtime.memory.values import Values, bits, same_bits

_FEW = 16  # components, which are filled one by one


class DeviceElements(Elements):
    """Elements somewhere in an allocation, or in memory of another library, which `owner` keeps;
    `zeros` may be deferred."""

    __slots__ = ("_owner", "_place", "_zeros", "deferred", "transfers")

    def __init__(
        self,
        transfers: Transfers,
        place: Strided,
        dtype: DType,
        owner: object,
        zeros: DeferredZeros | None = None,
    ) -> None:
        self.transfers, self._place, self.dtype, self._owner = transfers, place, dtype, owner
        self.shape, self.nbytes, self.address = place.shape, place.nbytes, place.address
        self.deferred = self._zeros = zeros

    @property
    def place(self) -> Strided:
        """Return the places of the elements, as they are."""
        if self._zeros:
            self._zeros.finish()
        return self._place

    # To the host and from it.

    def get(self, index: Index) -> Any:
        place = self.place.at(index)
        if isinstance(self._owner, DeviceAllocation):
            values = self._owner.read_ahead.read(place, self.dtype)
            if values is not None:
                return values.tolist()
        return self.transfers.read(place, self.dtype).tolist()

    def put(self, index: Index, value: Any) -> None:
        self._write(self.place.at(index), value)

    def read(self, box: Box | None = None) -> Values:
        return self.transfers.read(self.place.part(box), self.dtype)

    def write(self, values: Values, box: Box | None = None) -> None:
        self._write(self.place.part(box) if box is not None else self._place_to_set(), values)

    def _place_to_set(self) -> Strided:
        """Return the places of the elements, all of which are about to be set."""
        if self._zeros and self.deferred is not None:
            self._zeros.drop()
        return self.place

    def _write(self, place: Strided, values: Any) -> None:
        if not (
            isinstance(values, np.ndarray)
            and (values.shape, values.dtype) == (place.shape, self.dtype)
            and values.flags.c_contiguous
        ):
            source = np.asarray(values)
            if source.size < min(_FEW + 1, place.nbytes // self.dtype.itemsize) and (
                source.shape == place.shape[len(place.shape) - source.ndim :]
            ):
                return _spread(self.transfers, place, source.astype(self.dtype))
            values = np.empty(place.shape, self.dtype)
            values[...] = source
        self.transfers.write(place, values)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        number = np.empty(1, self.dtype)
        number[...] = value
        is_whole = box is None and where is None
        place = self._place_to_set() if is_whole else self.place.part(box)
        if where is None:
            self.transfers.fill(place, number)
        else:
            self.transfers.fill_where(place, number, np.broadcast_to(where, place.shape))

    # What comes down to a number.

    def any(self) -> bool:
        return self.transfers.any(self.place, self.dtype)

    def checksum(self) -> int:
        return zlib.crc32(self.read().reshape(-1).view(np.uint8).data)

    def equals(self, values: Values, box: Box | None = None) -> bool:
        return same_bits(self.read(box), values)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        return bits(self.read(box)) != bits(values)

    # On the device.

    def take(self, other: Elements, box: Box | None = None) -> None:
        if isinstance(other, DeviceElements) and other.dtype == self.dtype:
            self.transfers.copy(self.place.part(box), other.place.part(box))
        else:
            self.write(other.read(box), box)

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        if isinstance(other, DeviceElements):
            return not self.transfers.differ(self.place.part(box), other.place.part(box))
        return self.equals(other.read(box), box)

    def add(self, other: Elements) -> None:
        if isinstance(other, DeviceElements):
            self.transfers.add(self.place, other.place, self.dtype)
        else:
            self.write(self.read() + other.read())

    def room(self) -> Kept:
        return DeviceKept(self, DeviceAllocation(self.transfers, self.nbytes))

    def overlaps(self, other: Elements) -> bool:
        return isinstance(other, DeviceElements) and bool(
            np.shares_memory(_unreadable(self._place), _unreadable(other._place))
        )

    @property
    def key(self) -> Hashable:
        """Return the key of the elements."""
        return self._place.key

    def pack(self, address: int) -> Strided:
        """Return a dense array of the same size at an address."""
        return self._place.pack(address)

    def part(self, box: Box | None) -> DeviceElements:
        """The elements of a box."""
        elements = DeviceElements(self.transfers, self.place.part(box), self.dtype, self._owner)
        elements._zeros = self._zeros
        return elements


class DeviceKept(Kept):
    """Elements, and a copy of them: so many bytes into a block, in the order that they have in
    memory."""

    __slots__ = ("_block", "_copy", "_elements", "_transfers")

    def __init__(self, elements: DeviceElements, block: DeviceAllocation, offset: int = 0) -> None:
        self._elements, self._block, self._transfers = elements, block, elements.transfers
        self._copy = elements.pack(block.address + offset)
        self.nbytes = elements.nbytes

    @property
    def place(self) -> Hashable:
        return self._elements.key

    def renew(self) -> None:
        self._transfers.copy(self._copy, self._elements.place)

    def restore(self) -> None:
        self._transfers.copy(self._elements.place, self._copy)

    def exchange(self) -> None:
        self._transfers.exchange(self._elements.place, self._copy)

    def add(self) -> None:
        self._transfers.add(self._elements.place, self._copy, self._elements.dtype)

    def differs(self) -> bool:
        return self._transfers.differ(self._elements.place, self._copy)

    def present(self, arena: Arena, name: str) -> Kept:
        return arena.keep(self._elements, None, name)


def _spread(transfers: Transfers, place: Strided, values: Values) -> None:
    """Set elements to a number, or vectors to one: by filling each component."""
    every = (slice(None),) * (len(place.shape) - values.ndim)
    for index in np.ndindex(values.shape):
        transfers.fill(place.at((*every, *index)), values[index].reshape(1))


class _Unreadable:
    """An array whose elements NumPy must not read; only their places may be requested."""

    def __init__(self, place: Strided) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": place.shape,
            "strides": place.strides,
            "typestr": f"|V{place.itemsize}",
            "data": (place.address, True),
        }


def _unreadable(place: Strided) -> Values:
    return np.asarray(_Unreadable(place))
