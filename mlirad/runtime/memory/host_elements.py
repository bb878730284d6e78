"""Elements in the memory of the host, and copies of them."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Arena, Elements, Index, Kept, Values
from mlirad.runtime.memory.short_axes import assign, copied
from mlirad.runtime.memory.values import bits, part, same_bits


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
        return copied(self._part(box))

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values."""
        assign(self._part(box), values)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number."""
        if where is not None:
            self._part(box)[where] = value
        elif box is not None or not self._view.flags.c_contiguous:
            assign(self._part(box), value)
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
        assign(self._part(box), _looked_at(other, box))

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
        assign(self._copy, self._view)

    def restore(self) -> None:
        """Let memory hold the kept elements."""
        assign(self._view, self._copy)

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        memory = copied(self._view)
        assign(self._view, self._copy)
        assign(self._copy, memory)

    def add(self) -> None:
        """Add the kept elements to those in memory."""
        self._view += self._copy

    def differs(self) -> bool:
        """Whether memory holds other bits now."""
        return self._copy.tobytes() != self._view.tobytes()

    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now."""
        return arena.keep(HostElements(self._view), None, name)
