"""A GPU by CUDA's driver: memory by plain allocations, copies in one stream."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from functools import cache, partial

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.cuda.connection import Connection
from mlirad.runtime.cuda.constants import (
    CU_MEMHOSTALLOC_PORTABLE,
    CU_MEMORYTYPE_DEVICE,
    CUdevice_attribute,
    CUmemPool_attribute,
    CUpointer_attribute,
    CUresult,
)
from mlirad.runtime.cuda.functions import Functions, driver_functions
from mlirad.runtime.cuda.reserved_addresses import ReservedAddresses
from mlirad.runtime.memory.device.driver import Driver

_CUDA = 2  # DLPack's kDLCUDA
_KEPT = 2 << 30  # bytes of scratch: what the reverse of a loop may take for its history, twice
_STAGED = 1 << 16  # bytes that are copied before they are sent: nobody waits for them


class CudaDriver(Driver):
    """One GPU."""

    def __init__(self, functions: Functions) -> None:
        self.connection = Connection(functions)
        self._pool = self._scratch_pool() if self.connection.card.has_pools else None
        if self.connection.card.has_addresses:
            self.addresses = ReservedAddresses(self.connection, partial(_take, self))

    def _scratch_pool(self) -> int:
        """Return the pool from which launches take scratch memory: it keeps some from one to the
        next."""
        pool, kept = ctypes.c_void_p(), ctypes.c_uint64(_KEPT)
        find, limit = "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute"
        which = CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        number = self.connection.card.number
        self.connection.ask("find its pool of memory", find, ctypes.byref(pool), number)
        self.connection.ask("keep memory in its pool", limit, pool, which, ctypes.byref(kept))
        return pool.value or 0

    # Memory.

    def allocate(self, size: int) -> int:
        """By `cuMemAlloc`."""
        address = ctypes.c_uint64()
        place = ctypes.byref(address)
        _take(self, size, lambda: self.connection.call("cuMemAlloc_v2", place, size))
        return address.value

    def make_room(self) -> None:
        """Give back what nobody can reach, and what the pool keeps."""
        gc.collect()
        self.synchronize()
        if self._pool is not None:
            self.connection.ask("empty its pool of memory", "cuMemPoolTrimTo", self._pool, 0)

    def no_room(self, what: str) -> TaichiMemoryError:
        """The error for what does not fit."""
        return TaichiMemoryError(
            f"{what} do not fit into the memory of {self.connection.card.name}: "
            f"{_shown(self.free_memory())} of {_shown(self.total_memory())} are free; the "
            "program can continue"
        )

    def free(self, address: int) -> None:
        """By `cuMemFree`, which waits."""
        self.connection.give_back("free memory", "cuMemFree_v2", address)

    def page_locked(self, size: int) -> int:
        """By `cuMemHostAlloc`, for all contexts."""
        found = ctypes.c_void_p()
        result = self.connection.call(
            "cuMemHostAlloc", ctypes.byref(found), size, CU_MEMHOSTALLOC_PORTABLE
        )
        if result == CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise TaichiMemoryError(
                f"{size} bytes ({_shown(size)}) of page-locked memory are not available; the "
                "program can continue"
            )
        self.connection.check(result, f"allocate {size} bytes of page-locked memory")
        return found.value or 0

    def free_page_locked(self, address: int) -> None:
        """By `cuMemFreeHost`."""
        if not self.connection.gone:
            self.connection.call("cuMemFreeHost", address)

    def total_memory(self) -> int:
        """As the driver counts."""
        return self._memory()[1]

    def free_memory(self) -> int:
        """As the driver counts."""
        return self._memory()[0]

    def _memory(self) -> tuple[int, int]:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        places = ctypes.byref(free), ctypes.byref(total)
        self.connection.ask("give the amount of free memory", "cuMemGetInfo_v2", *places)
        return free.value, total.value

    def holds(self, address: int) -> bool:
        """By what the driver knows of an address: that of others it does not know. From then on
        launches are seen at once by whom it is of."""
        wanted = {
            CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE: CU_MEMORYTYPE_DEVICE,
            CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: self.connection.card.number,
        }
        is_here = all(self._fact(which, address) == value for which, value in wanted.items())
        if is_here and self.connection.sequences.is_usable:
            self.connection.share()
        return is_here

    def _fact(self, which: CUpointer_attribute, address: int) -> int | None:
        found = ctypes.c_int()
        result = self.connection.call("cuPointerGetAttribute", ctypes.byref(found), which, address)
        if result == CUresult.CUDA_ERROR_INVALID_VALUE:
            return None
        self.connection.check(result, "look at an address")
        return found.value

    # Copies.

    def write(self, address: int, host_address: int, size: int) -> None:
        """Few bytes are copied first, which the driver then takes over at once; else it is waited
        for, as the host's memory may be page-locked."""
        doing = f"copy {size} bytes to the GPU"
        source = ctypes.string_at(host_address, size) if size <= _STAGED else host_address
        stream = self.connection.stream
        self.connection.ask(doing, "cuMemcpyHtoDAsync_v2", address, source, size, stream)
        if size > _STAGED:
            self.connection.wait(doing)

    def read(self, host_address: int, address: int, size: int) -> None:
        """Copy, and wait."""
        doing, stream = f"copy {size} bytes from the GPU", self.connection.stream
        self.connection.ask(doing, "cuMemcpyDtoHAsync_v2", host_address, address, size, stream)
        self.connection.wait(doing)

    def copy(self, target: int, source: int, size: int) -> None:
        """In the stream."""
        doing, stream = f"copy {size} bytes", self.connection.stream
        self.connection.ask(doing, "cuMemcpyDtoDAsync_v2", target, source, size, stream)

    def fill(self, address: int, byte: int, size: int) -> None:
        """In the stream."""
        doing, stream = f"fill {size} bytes", self.connection.stream
        self.connection.ask(doing, "cuMemsetD8Async", address, byte, size, stream)

    def synchronize(self) -> None:
        """Wait for the stream."""
        self.connection.wait("finish its launches")

    # Other libraries.

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """As CUDA counts."""
        return _CUDA, self.connection.card.number

    def clock_rate(self) -> float:
        """The ticks of its clock in a second, as it is made."""
        kilohertz, which = ctypes.c_int(), CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE
        doing, name = "give its clock rate", "cuDeviceGetAttribute"
        number = self.connection.card.number
        self.connection.ask(doing, name, ctypes.byref(kilohertz), which, number)
        return 1000.0 * kilohertz.value

    @property
    def stream(self) -> int:
        """Its handle."""
        return self.connection.stream


def _take(driver: CudaDriver, size: int, allocate: Callable[[], int]) -> None:
    """Allocate, if need be what the pool keeps. Raises TaichiMemoryError where there is less."""
    result = allocate()
    if result == CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        driver.make_room()
        result = allocate()
    if result == CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        raise driver.no_room(f"{size} bytes ({_shown(size)})")
    driver.connection.check(result, f"allocate {size} bytes")


@cache
def cuda_driver() -> CudaDriver:
    """Return the driver of this machine's first GPU, opened once per process. Raises
    UnavailableError where there is none."""
    return CudaDriver(driver_functions())


def _shown(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 1 << 30 else f"{size / 2**20:.1f} MiB"
