"""Elements on a device, and copies of them there."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.device.device_allocation import DeviceAllocation
from mlirad.runtime.memory.device.strided import Strided
from mlirad.runtime.memory.device.transfers import Transfers
from mlirad.runtime.memory.memory import Arena, DType, Elements, Index, Kept
from mlirad.runtime.memory.values import Values, bits, same_bits

_FEW = 16  # components, which are filled one by one


class DeviceElements(Elements):
    """Elements somewhere in an allocation, or in memory of another library, which `owner` keeps."""

    __slots__ = ("_owner", "place", "transfers")

    def __init__(self, transfers: Transfers, place: Strided, dtype: DType, owner: object) -> None:
        self.transfers, self.place, self.dtype, self._owner = transfers, place, dtype, owner
        self.shape, self.nbytes, self.address = place.shape, place.nbytes, place.address

    # To the host and from it.

    def get(self, index: Index) -> Any:
        """A number of Python, or nested lists of them; of our memory, neighbours are read too."""
        place = self.place.at(index)
        if isinstance(self._owner, DeviceAllocation):
            found = self._owner.read_ahead.read(place, self.dtype)
            if found is not None:
                return found.tolist()
        return self.transfers.read(place, self.dtype).tolist()

    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index."""
        self._write(self.place.at(index), value)

    def read(self, box: Box | None = None) -> Values:
        """A copy."""
        return self.transfers.read(self.place.part(box), self.dtype)

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values."""
        self._write(self.place.part(box), values)

    def _write(self, place: Strided, values: Any) -> None:
        if not (
            isinstance(values, np.ndarray)
            and (values.shape, values.dtype) == (place.shape, self.dtype)
            and values.flags.c_contiguous
        ):
            given = np.asarray(values)
            if given.size < min(_FEW + 1, place.nbytes // self.dtype.itemsize) and (
                given.shape == place.shape[len(place.shape) - given.ndim :]
            ):
                return self._spread(place, given)
            values = np.empty(place.shape, self.dtype)
            values[...] = given
        self.transfers.write(place, values)

    def _spread(self, place: Strided, values: Values) -> None:
        """Set elements to a number, or vectors to one: by filling each component."""
        every = (slice(None),) * (len(place.shape) - values.ndim)
        for index in np.ndindex(values.shape):
            number = np.empty(1, self.dtype)
            number[...] = values[index]
            self.transfers.fill(place.at((*every, *index)), number)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number."""
        number, place = np.empty(1, self.dtype), self.place.part(box)
        number[...] = value
        if where is None:
            self.transfers.fill(place, number)
        else:
            self.transfers.fill_where(place, number, np.broadcast_to(where, place.shape))

    # What comes down to a number.

    def any(self) -> bool:
        """Whether one of the elements is not 0."""
        return self.transfers.any(self.place, self.dtype)

    def checksum(self) -> int:
        """A CRC-32 of the bytes, which the host works out."""
        return zlib.crc32(self.read().reshape(-1).view(np.uint8).data)

    def equals(self, values: Values, box: Box | None = None) -> bool:
        """Whether elements have the bits of values: one or the other has to be moved."""
        return same_bits(self.read(box), values)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        """A mask of the elements that have other bits."""
        return bits(self.read(box)) != bits(values)

    # On the device.

    def take(self, other: Elements, box: Box | None = None) -> None:
        """Set elements to others."""
        if isinstance(other, DeviceElements) and other.dtype == self.dtype:
            self.transfers.copy(self.place.part(box), other.place.part(box))
        else:
            self.write(other.read(box), box)

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        """Whether elements have the bits of others."""
        if isinstance(other, DeviceElements):
            return not self.transfers.differ(self.place.part(box), other.place.part(box))
        return self.equals(other.read(box), box)

    def add(self, other: Elements) -> None:
        """Add others."""
        if isinstance(other, DeviceElements):
            self.transfers.add(self.place, other.place, self.dtype)
        else:
            self.write(self.read() + other.read())

    def room(self) -> Kept:
        """Room for a copy."""
        return DeviceKept(self, DeviceAllocation(self.transfers, self.nbytes))

    def overlaps(self, other: Elements) -> bool:
        """Whether there are elements in common."""
        return isinstance(other, DeviceElements) and bool(
            np.shares_memory(_unreadable(self.place), _unreadable(other.place))
        )

    def part(self, box: Box | None) -> DeviceElements:
        """The elements of a box."""
        return DeviceElements(self.transfers, self.place.part(box), self.dtype, self._owner)


class DeviceKept(Kept):
    """Elements, and a copy of them: so many bytes into a block, in the order that they have in
    memory."""

    __slots__ = ("_block", "_copy", "_elements", "_transfers")

    def __init__(self, elements: DeviceElements, block: DeviceAllocation, offset: int = 0) -> None:
        self._elements, self._block, self._transfers = elements, block, elements.transfers
        self._copy = elements.place.packed(block.address + offset)
        self.nbytes = elements.nbytes

    @property
    def place(self) -> Hashable:
        """Where the elements are."""
        return self._elements.place.key

    def renew(self) -> None:
        """Hold the elements as they are now."""
        self._transfers.copy(self._copy, self._elements.place)

    def restore(self) -> None:
        """Let memory hold the kept elements."""
        self._transfers.copy(self._elements.place, self._copy)

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        self._transfers.exchange(self._elements.place, self._copy)

    def add(self) -> None:
        """Add the kept elements to those in memory."""
        self._transfers.add(self._elements.place, self._copy, self._elements.dtype)

    def differs(self) -> bool:
        """Whether memory holds other bits now."""
        return self._transfers.differ(self._elements.place, self._copy)

    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now."""
        return arena.keep(self._elements, None, name)


class _Unreadable:
    """What NumPy takes for an array, as long as it only asks where the elements are."""

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
