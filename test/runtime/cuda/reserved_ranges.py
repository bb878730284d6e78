"""What the stub of CUDA's driver does with reserved addresses, and memory that is mapped there."""

from __future__ import annotations

import ctypes
import mmap
from collections import Counter
from dataclasses import dataclass
from typing import Any

from runtime.cuda.device_space import UNWRITTEN

from mlirad.runtime.cuda.constants import CUresult

OFFSET = 1 << 56  # no address of the host, nor of any GPU
R = CUresult
GRANULE = 2 << 20  # bytes that are mapped at least
_PROT_NONE, _PROT_ALL = 0, 3  # mprotect's
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Created:
    """Memory that may be mapped: as long as it has a name, or addresses."""

    size: int
    has_name: bool = True
    uses: int = 0


class Range:
    """Reserved addresses, of which those are the host's to touch that have memory and access."""

    def __init__(self, size: int) -> None:
        self.size = size
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # without a reserve
        self._pages = mmap.mmap(-1, size + GRANULE, flags=flags)
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        self.start = -(-place // GRANULE) * GRANULE
        self.pieces: dict[int, int] = {}
        self._handles: dict[int, int] = {}
        self._shown: set[int] = set()
        self._protect(0, size, _PROT_NONE)

    def _protect(self, start: int, size: int, how: int) -> None:
        place = ctypes.c_void_p(self.start + start)
        assert not _LIBC.mprotect(place, ctypes.c_size_t(size), how), ctypes.get_errno()

    def overlaps(self, start: int, size: int) -> bool:
        """Whether some of the addresses have memory."""
        return any(
            first < start + size and start < first + length for first, length in self.pieces.items()
        )

    def map(self, start: int, size: int, handle: int) -> None:
        """Have memory, which nobody may touch yet."""
        self.pieces[start], self._handles[start] = size, handle

    def show(self, start: int, size: int) -> None:
        """Let it be touched: it holds garbage."""
        self._protect(start, size, _PROT_ALL)
        self._shown.add(start)
        ctypes.memset(self.start + start, UNWRITTEN, GRANULE)  # the rest would take the host's

    def unmap(self, start: int, size: int) -> int:
        """Have no memory any more; what it was called."""
        self._pages.madvise(mmap.MADV_DONTNEED, self._offset(start), size)
        self._protect(start, size, _PROT_NONE)
        self._shown.discard(start)
        del self.pieces[start]
        return self._handles.pop(start)

    def _offset(self, start: int) -> int:
        return self.start + start - ctypes.addressof(ctypes.c_char.from_buffer(self._pages))

    def shows(self, start: int, size: int) -> bool:
        """Whether all of the addresses may be touched."""
        position = start
        for first, length in sorted(self.pieces.items()):
            if first in self._shown and first <= position < first + length:
                position = first + length
        return position >= start + size


class Failure(Exception):
    """A result other than success."""

    def __init__(self, result: int) -> None:
        super().__init__(result)
        self.result = result


class AddressCalls:
    """The part of a stub that has them."""

    addresses: bool  # whether the device can do that
    total: int
    counts: Counter[str]

    def __init__(self) -> None:
        self.ranges: dict[int, Range] = {}  # by the first address
        self.created: dict[int, Created] = {}

    def _in_context(self) -> None:
        raise NotImplementedError

    def _drain(self) -> None:
        raise NotImplementedError

    def used(self) -> int:
        """The bytes of memory that are allocated."""
        raise NotImplementedError

    @property
    def mapped(self) -> int:
        """How many bytes of reserved addresses have memory."""
        return sum(sum(range_.pieces.values()) for range_ in self.ranges.values())

    def reserved(self, address: int, size: int) -> int | None:
        """The address on the host of bytes that are mapped."""
        for first, range_ in self.ranges.items():
            if first <= address < first + range_.size:
                return address - OFFSET if range_.shows(address - first, size) else None
        return None

    def cuMemGetAllocationGranularity(self, place: int, properties: int, option: int) -> None:
        self._check_properties(properties)
        assert option == 0
        _give(place, ctypes.c_size_t, GRANULE)

    def _check_properties(self, properties: int) -> None:
        self._in_context()
        assert self.addresses
        words = (ctypes.c_int * 8).from_address(properties)
        assert list(words) == [1, 0, 1, 0, 0, 0, 0, 0], "not pinned on the first device"

    def cuMemAddressReserve(
        self, place: int, size: int, alignment: int, wanted: int, flags: int
    ) -> None:
        self._in_context()
        assert self.addresses and not alignment and not wanted and not flags
        if not size or size % GRANULE:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        range_ = Range(size)
        self.ranges[range_.start + OFFSET] = range_
        _give(place, ctypes.c_uint64, range_.start + OFFSET)

    def cuMemAddressFree(self, address: int, size: int) -> None:
        self._in_context()
        range_ = self.ranges.get(address)
        if range_ is None or range_.size != size or range_.pieces:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        self._drain()
        del self.ranges[address]

    def cuMemCreate(self, place: int, size: int, properties: int, flags: int) -> None:
        self._check_properties(properties)
        assert not flags
        if not size or size % GRANULE:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        if self.used() + size > self.total:
            raise Failure(R.CUDA_ERROR_OUT_OF_MEMORY)
        handle = 0x700000 + self.counts["cuMemCreate"]
        self.created[handle] = Created(size)
        _give(place, ctypes.c_uint64, handle)

    def cuMemRelease(self, handle: int) -> None:
        self._in_context()
        created = self.created[handle]
        assert created.has_name
        created.has_name = False
        self._forget(handle)

    def _forget(self, handle: int) -> None:
        """Have memory no more that has neither a name nor addresses."""
        created = self.created[handle]
        if not created.has_name and not created.uses:
            del self.created[handle]

    def cuMemMap(self, address: int, size: int, offset: int, handle: int, flags: int) -> None:
        self._in_context()
        created, (first, range_) = self.created[handle], self._range(address, size)
        assert created.has_name and not flags and not offset and size == created.size
        if address % GRANULE or range_.overlaps(address - first, size):
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        range_.map(address - first, size, handle)
        created.uses += 1

    def _range(self, address: int, size: int) -> tuple[int, Range]:
        for first, range_ in self.ranges.items():
            if first <= address and address + size <= first + range_.size:
                return first, range_
        raise Failure(R.CUDA_ERROR_INVALID_VALUE)

    def cuMemSetAccess(self, address: int, size: int, access: int, count: int) -> None:
        self._in_context()
        assert count == 1 and list((ctypes.c_int * 3).from_address(access)) == [1, 0, 3]
        first, range_ = self._range(address, size)
        if range_.pieces.get(address - first) != size:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        range_.show(address - first, size)

    def cuMemUnmap(self, address: int, size: int) -> None:
        self._in_context()
        first, range_ = self._range(address, size)
        if range_.pieces.get(address - first) != size:
            raise Failure(R.CUDA_ERROR_INVALID_VALUE)
        self._drain()  # what runs may use it
        handle = range_.unmap(address - first, size)
        self.created[handle].uses -= 1
        self._forget(handle)


def _give(place: int, type_: Any, value: int) -> None:
    type_.from_address(place).value = value
