"""Elements in the memory of the host, and copies of them."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from mlirad.ir.waiting import LEAST
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.blocks import Blocks
from mlirad.runtime.memory.memory import Arena, Elements, Index, Kept, Values
from mlirad.runtime.memory.short_axes import assign, copied, exchange
from mlirad.runtime.memory.values import bits, part, same_bits
from mlirad.runtime.memory.waiting import Clearing, WaitingRows


class HostRoom:
    """Bytes in which elements lie, all of which are known."""

    __slots__ = ("address", "members", "size")

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.members = address, size, list[HostElements]()


class HostElements(Elements):
    """Elements as NumPy sees them, which may wait to be cleared: then `_memory` holds what was
    there before, and nobody else looks at it."""

    __slots__ = ("_blocks", "_is_lent", "_is_packed", "_memory", "_room", "_rows", "_waiting")

    def __init__(
        self, view: Values, room: HostRoom | None = None, blocks: Blocks | None = None
    ) -> None:
        self._memory, self._room, self._blocks = view, room, blocks
        self._is_packed, self._is_lent = view.flags.c_contiguous, False
        self._waiting: Clearing | None = None
        self._rows: WaitingRows | None = None  # where some do not wait
        self.shape, self.dtype, self.nbytes = view.shape, view.dtype, view.nbytes
        self.address = view.__array_interface__["data"][0]

    @property
    def _view(self) -> Values:
        """The elements, none of which waits."""
        if self._waiting is not None:
            self.use()
        return self._memory

    def clear(self, clearing: Clearing) -> None:
        """Set all elements to 0, many of them when they are used."""
        if self.nbytes < LEAST or self._is_lent:
            self.fill(0)
        elif self._waiting is None or self._rows is not None:
            with clearing.lock:
                self._waiting, self._rows = clearing, None
                clearing.version += 1

    def use(self, rows: Iterable[tuple[int, int]] | None = None) -> bool:
        """Clear what waits to be cleared, or of that some rows; whether others wait."""
        waiting = self._waiting
        if waiting is not None:
            with waiting.lock:
                if self._waiting is not None:
                    _clear_waiting(self, rows if self._is_packed else None)
        return self._waiting is not None

    def begin_anew(self) -> bool:
        """All elements are about to be set; whether they wait to be cleared, and count as 0."""
        if self._rows is not None:
            self.use()
        waited, self._waiting = self._waiting is not None, None
        return waited

    def lend(self) -> Values:
        """A read-only view; from now on nothing waits to be cleared."""
        self._is_lent = True
        view = self._view.view()
        view.flags.writeable = False
        return view

    def get(self, index: Index) -> Any:
        """A number of Python, or nested lists of them."""
        return self._view[index].tolist()

    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index."""
        self._view[index] = value

    def read(self, box: Box | None = None) -> Values:
        """A copy."""
        return copied(_part(self, box), self._blocks)

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values."""
        if box is None:
            assign(self._memory, values)
            self._waiting = self._rows = None
        else:
            assign(_part(self, box), values)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number."""
        if where is not None:
            _part(self, box)[where] = value
        elif box is not None:  # what waits to be cleared may be 0 before
            assign(self.within(box) if value == 0 else _part(self, box), value)
        else:
            _set_all(self, value)
            self._waiting = self._rows = None

    def any(self) -> bool:
        """Whether one of the elements is not 0."""
        return bool(self._view.any())

    def checksum(self) -> int:
        """A CRC-32 of the bytes."""
        flat = np.ascontiguousarray(self._view).reshape(-1)
        return zlib.crc32(flat.view(np.uint8).data)

    def equals(self, values: Values, box: Box | None = None) -> bool:
        """Whether elements have the bits of values."""
        return same_bits(_part(self, box), values)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        """A mask of the elements that have other bits."""
        return bits(_part(self, box)) != bits(values)

    def take(self, other: Elements, box: Box | None = None) -> None:
        """Set elements to others."""
        assign(_part(self, box), _looked_at(other, box))

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        """Whether elements have the bits of others."""
        return self.equals(_looked_at(other, box), box)

    def add(self, other: Elements) -> None:
        """Add others."""
        view = self._view
        view += _looked_at(other, None)

    def room(self) -> Kept:
        """Room for a copy."""
        return HostKept(self, None, np.empty(self.shape, self.dtype))

    def overlaps(self, other: Elements) -> bool:
        """Whether there are elements in common."""
        return isinstance(other, HostElements) and np.shares_memory(self._memory, other._memory)

    def within(self, box: Box | None) -> Values:
        """Where the elements of a box are, which may wait to be cleared."""
        return self._memory if box is None else part(self._memory, box)


def _set_all(elements: HostElements, value: Any) -> None:
    """Set everything to one number, whatever waits."""
    if not elements._is_packed:
        assign(elements._memory, value)
    elif value == 0:
        ctypes.memset(elements.address, 0, elements.nbytes)
    else:
        elements._memory.fill(value)


def _clear_waiting(elements: HostElements, rows: Iterable[tuple[int, int]] | None) -> None:
    """Set what waits to 0, or of that some rows."""
    if rows is None and elements._rows is None:
        _clear_together(elements)
    else:
        waiting = elements._rows = elements._rows or WaitingRows(elements.shape[0])
        for first, last in [(0, elements.shape[0])] if rows is None else rows:
            _clear_rows(elements, waiting.take(first, last))
        if waiting:
            return
    elements._waiting = elements._rows = None


def _clear_together(elements: HostElements) -> None:
    """Set all elements to 0; with all that lie between them, where these wait too."""
    room = elements._room
    if room is None or elements._is_packed or not all(map(_waits, room.members)):
        _set_all(elements, 0)
        return
    ctypes.memset(room.address, 0, room.size)
    for member in room.members:
        member._waiting = None


def _waits(elements: HostElements) -> bool:
    return elements._waiting is not None and elements._rows is None


def _clear_rows(elements: HostElements, runs: Iterable[tuple[int, int]]) -> None:
    """Set rows to 0: from which on, and how many."""
    size = elements.nbytes // elements.shape[0]
    for first, count in runs:
        ctypes.memset(elements.address + first * size, 0, count * size)


def _part(elements: HostElements, box: Box | None) -> Values:
    return elements._view if box is None else part(elements._view, box)


def _looked_at(elements: Elements, box: Box | None) -> Values:
    return _part(elements, box) if isinstance(elements, HostElements) else elements.read(box)


class HostKept(Kept):
    """A box of elements, and a copy of what was there."""

    __slots__ = ("_box", "_copy", "_elements", "_memory")

    def __init__(self, elements: HostElements, box: Box | None, copy: Values) -> None:
        self._elements, self._box, self._copy = elements, box, copy
        self._memory, self.nbytes = elements.within(box), copy.nbytes

    @property
    def _view(self) -> Values:
        self._elements.use()
        return self._memory

    @property
    def place(self) -> Hashable:
        """Where the elements are."""
        memory = self._memory
        return memory.__array_interface__["data"][0], memory.shape, memory.strides

    def renew(self) -> None:
        """Hold the elements as they are now."""
        assign(self._copy, self._view)

    def restore(self) -> None:
        """Let memory hold the kept elements."""
        assign(self._view, self._copy)

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        exchange(self._view, self._copy)

    def add(self) -> None:
        """Add the kept elements to those in memory."""
        view = self._view
        view += self._copy

    def differs(self) -> bool:
        """Whether memory holds other bits now."""
        return self._copy.tobytes() != self._view.tobytes()

    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now."""
        return arena.keep(self._elements, self._box, name)
