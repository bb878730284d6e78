"""Addresses of a GPU without memory, and memory that is mapped there piece by piece."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from mlirad.runtime.cuda.connection import Connection
from mlirad.runtime.cuda.constants import (
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    CU_MEM_ALLOC_GRANULARITY_MINIMUM,
    CU_MEM_ALLOCATION_TYPE_PINNED,
    CU_MEM_LOCATION_TYPE_DEVICE,
)
from mlirad.runtime.memory.device.driver import Addresses


class _Location(ctypes.Structure):
    """`CUmemLocation`."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """`CUmemAllocationProp`: pinned on a device, with no handles for others."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """`CUmemAccessDesc`."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class ReservedAddresses(Addresses):
    """Ranges of addresses, by their first one, and the pieces of memory in each. `take` calls what
    allocates so many bytes, and raises TaichiMemoryError where there are less."""

    def __init__(
        self, connection: Connection, take: Callable[[int, Callable[[], int]], None]
    ) -> None:
        self._connection, self._take = connection, take
        location = _Location(CU_MEM_LOCATION_TYPE_DEVICE, connection.card.number)
        self._properties = _Properties(CU_MEM_ALLOCATION_TYPE_PINNED, 0, location)
        self._access = _Access(location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        self._sizes: dict[int, int] = {}
        self._pieces: dict[int, list[tuple[int, int]]] = {}  # where each is, and its bytes
        granule, least = ctypes.c_size_t(), CU_MEM_ALLOC_GRANULARITY_MINIMUM
        name, properties = "cuMemGetAllocationGranularity", ctypes.byref(self._properties)
        connection.ask(
            "give the granularity of memory", name, ctypes.byref(granule), properties, least
        )
        self.granule = granule.value

    def reserve(self, size: int) -> int:
        """By `cuMemAddressReserve`."""
        first = ctypes.c_uint64()
        doing, name = f"reserve {size} addresses", "cuMemAddressReserve"
        self._connection.ask(doing, name, ctypes.byref(first), size, 0, 0, 0)
        self._sizes[first.value], self._pieces[first.value] = size, []
        return first.value

    def commit(self, address: int, size: int) -> None:
        """By `cuMemCreate` and `cuMemMap`: the memory goes with its addresses."""
        ask, handle = self._connection.ask, ctypes.c_uint64()
        place, properties = ctypes.byref(handle), ctypes.byref(self._properties)
        self._take(size, lambda: self._connection.call("cuMemCreate", place, size, properties, 0))
        try:
            ask(f"map {size} bytes", "cuMemMap", address, size, 0, handle, 0)
        finally:  # which leaves the memory where it is mapped
            ask("release memory", "cuMemRelease", handle)
        first = max(first for first in self._sizes if first <= address)
        self._pieces[first].append((address, size))
        access = ctypes.byref(self._access)
        ask(f"access {size} mapped bytes", "cuMemSetAccess", address, size, access, 1)

    def release(self, address: int) -> None:
        """By `cuMemUnmap`, when what runs has ended."""
        connection = self._connection
        size, pieces = self._sizes.pop(address), self._pieces.pop(address)
        if connection.gone:
            return
        connection.call("cuStreamSynchronize", connection.stream)
        for place, piece in pieces:
            connection.give_back("unmap memory", "cuMemUnmap", place, piece)
        connection.give_back("give addresses back", "cuMemAddressFree", address, size)
