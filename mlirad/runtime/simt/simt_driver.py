"""A device whose memory lies on the host, where only the driver copies from and to.

Addresses are real, so that CPU code may run on what is there. Memory is guarded, so that tests see
what a GPU would not forgive: it is garbage before it was written to and after it was freed, a copy
that leaves its allocation is refused, and a write beyond one is found when it is freed.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right, insort
from collections import deque
from threading import RLock

import numpy as np

from mlirad.dialect.turn import free_in_forks
from mlirad.errors import TaichiMemoryError, TaichiRuntimeError
from mlirad.runtime.capacity import available_memory, machine_memory
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.memory.reserved import ADDRESS_SPACE, Reserved
from mlirad.runtime.memory.values import Values

ALIGNMENT = 256
UNWRITTEN, FREED = 0xFD, 0xFE  # floats of these are huge, integers negative
_GUARD = 0xFC
_FREED_KEPT = 16 << 20  # bytes: long enough that late readers meet garbage, not others' numbers


class SimtDriver(Driver):
    """Guarded memory of the host, `total` bytes of it at most."""

    def __init__(self, total: int | None = None) -> None:
        self._total = machine_memory() if total is None else total
        self._used = 0
        self._blocks = _Blocks()
        self._locked: dict[int, Values] = {}
        self._freed: deque[_Block] = deque()
        self._turn = free_in_forks(RLock())  # garbage is collected, and freed, at any time

    # Memory.

    def allocate(self, size: int) -> int:
        """Bytes that hold garbage."""
        with self._turn:
            if self._used + size > self._total:
                raise TaichiMemoryError(
                    f"{size} bytes do not fit into the memory of the device: {self.free_memory()} "
                    f"of {self._total} are free"
                )
            block = _Block(size)
            self._used += size
            return self._blocks.add(block)

    def reserve(self, size: int) -> int:
        """Bytes that hold 0 and take no memory."""
        with self._turn:
            return self._blocks.add(_ReservedBlock(size))

    def discard(self, address: int, size: int) -> None:
        block = self._check(address, size, "discard")
        block.discard(address - block.address, size)

    @property
    def address_space(self) -> int | None:
        return ADDRESS_SPACE

    def free(self, address: int) -> None:
        """Give bytes back, and leave garbage there. Raises TaichiRuntimeError if something wrote
        beyond their ends."""
        with self._turn:
            block = self._blocks.remove(address)
            if block is None:
                raise TaichiRuntimeError(f"cannot free {address:#x}: it is not an allocation")
            damaged = block.is_damaged()
            block.end()
            if not isinstance(block, _ReservedBlock):
                self._used -= block.size
            self._freed.append(block)
            while sum(block.size for block in self._freed) > _FREED_KEPT:
                self._freed.popleft()
        if damaged:
            raise TaichiRuntimeError(
                f"something wrote beyond the ends of the {block.size} bytes at {address:#x}"
            )

    def page_locked(self, size: int) -> int:
        room = np.full(size + ALIGNMENT, UNWRITTEN, np.uint8)
        address = int(room.ctypes.data) + -room.ctypes.data % ALIGNMENT
        self._locked[address] = room
        return address

    def free_page_locked(self, address: int) -> None:
        self._locked.pop(address, None)

    def total_memory(self) -> int:
        return self._total

    def free_memory(self) -> int:
        return max(0, min(self._total - self._used, available_memory()))

    def holds(self, address: int) -> bool:
        return self._block(address) is not None

    @property
    def allocations(self) -> int:
        """Return the number of allocations that are not freed, page-locked ones included."""
        return len(self._blocks) + len(self._locked)

    # Copies.

    def write(self, address: int, host_address: int, size: int) -> None:
        self._check(address, size, "write")
        ctypes.memmove(address, host_address, size)

    def read(self, host_address: int, address: int, size: int) -> None:
        self._check(address, size, "read")
        ctypes.memmove(host_address, address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        self._check(target, size, "write")
        self._check(source, size, "read")
        ctypes.memmove(target, source, size)

    def fill(self, address: int, byte: int, size: int) -> None:
        self._check(address, size, "fill")
        ctypes.memset(address, byte, size)

    def synchronize(self) -> None:
        """Nothing runs behind the caller's back."""

    # Other libraries.

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return 12, 0

    @property
    def stream(self) -> int | None:
        return None

    def _block(self, address: int) -> _Block | None:
        with self._turn:
            return self._blocks.find(address)

    def _check(self, address: int, size: int, operation: str) -> _Block:
        block = self._block(address)
        if block is None or address + size > block.address + block.size:
            raise TaichiRuntimeError(
                f"{operation} of {size} bytes at {address:#x}: this is not memory of the device"
            )
        return block


class _Block:
    """Bytes between two guards."""

    def __init__(self, size: int) -> None:
        self._room = np.full(size + 3 * ALIGNMENT, _GUARD, np.uint8)
        self._start = ALIGNMENT + -self._room.ctypes.data % ALIGNMENT
        self.address, self.size = int(self._room.ctypes.data) + self._start, size
        self.inside().fill(UNWRITTEN)

    def discard(self, start: int, size: int) -> None:
        """Set bytes to 0."""
        self.inside()[start : start + size] = 0

    def end(self) -> None:
        """Leave garbage."""
        self.inside().fill(FREED)

    def inside(self) -> Values:
        return self._room[self._start : self._start + self.size]

    def is_damaged(self) -> bool:
        """Return whether something wrote to the guards."""
        before, behind = self._room[: self._start], self._room[self._start + self.size :]
        return bool((before != _GUARD).any() or (behind != _GUARD).any())


class _ReservedBlock(_Block):
    """Zeros between two guards, committed as they are written to; it stays zeros when it ends."""

    def __init__(self, size: int) -> None:
        self._pages = Reserved(size + 3 * ALIGNMENT)
        self._room = self._pages.data
        self._start = ALIGNMENT + -self._room.ctypes.data % ALIGNMENT
        self.address, self.size = int(self._room.ctypes.data) + self._start, size
        self._room[: self._start] = _GUARD
        self._room[self._start + size :] = _GUARD

    def discard(self, start: int, size: int) -> None:
        self._pages.discard(self._start + start, size)

    def end(self) -> None:
        self.discard(0, self.size)


class _Blocks:
    """Blocks by their addresses."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._starts: list[int] = []

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, block: _Block) -> int:
        """Note a block; its address."""
        self._blocks[block.address] = block
        insort(self._starts, block.address)
        return block.address

    def remove(self, address: int) -> _Block | None:
        """Forget the block that begins at an address, or None."""
        block = self._blocks.pop(address, None)
        if block is not None:
            self._starts.remove(address)
        return block

    def find(self, address: int) -> _Block | None:
        """The block that an address lies in."""
        position = bisect_right(self._starts, address) - 1
        block = self._blocks[self._starts[position]] if position >= 0 else None
        return block if block is not None and address < block.address + block.size else None
