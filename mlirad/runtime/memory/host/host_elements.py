"""Elements in the memory of the host, and copies of them."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.host.blocks import Blocks
from mlirad.runtime.memory.host.host_waiting import HostLaunchSpace, HostWaiting, set_all
from mlirad.runtime.memory.host.short_axes import assign, copied, exchange
from mlirad.runtime.memory.memory import Arena, Elements, Index, Kept, Values
from mlirad.runtime.memory.values import bits, part, same_bits
from mlirad.runtime.memory.waiting import Clearing


class HostElements(Elements):
    """Elements as NumPy sees them."""

    __slots__ = ("_blocks", "_memory", "waiting")

    waiting: HostWaiting

    def __init__(
        self, view: Values, room: HostLaunchSpace | None = None, blocks: Blocks | None = None
    ) -> None:
        self._memory, self._blocks, self.waiting = view, blocks, HostWaiting(view, room)
        self.shape, self.dtype, self.nbytes = view.shape, view.dtype, view.nbytes
        self.address = view.__array_interface__["data"][0]

    @property
    def _view(self) -> Values:
        """The elements, none of which waits."""
        if self.waiting.is_any:
            self.waiting.use()
        return self._memory

    def clear(self, clearing: Clearing) -> None:
        """Set all elements to 0, many of them when they are used."""
        if not self.waiting.clear(clearing):
            self.fill(0)

    def lend(self) -> Values | None:
        """A read-only view; from now on nothing waits to be cleared, and elements stay where they
        are. None for those that are not at home."""
        if self.waiting.home is not None:
            return None
        self.waiting.is_lent = True
        view = self._view.view()
        view.flags.writeable = False
        return view

    def move(self, values: Values | None, clearing: Clearing) -> bool:
        """Lie elsewhere; not where elements lie apart, or somebody looks at them at any time."""
        if values is not None and not (
            (values.shape, values.dtype) == (self.shape, self.dtype)
            and self._memory.flags.c_contiguous
            and values.flags.c_contiguous
            and values.flags.aligned
        ):
            return False
        memory = self.waiting.move(values)
        if memory is not None:
            self._memory, self.address = memory, memory.__array_interface__["data"][0]
            clearing.count_move()
        return memory is not None

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
        """Set elements to values, which may be some of these in another order."""
        if isinstance(values, np.ndarray) and np.may_share_memory(values, self._memory):
            values = values.copy()
        if box is None:
            assign(self._memory, values)
            self.waiting.stop()
        else:
            assign(_part(self, box), values)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number."""
        if where is not None:
            _part(self, box)[where] = value
        elif box is not None:  # what waits to be cleared may be 0 before
            is_early = value == 0 and not self.waiting.is_put_back_later
            assign(self.within(box) if is_early else _part(self, box), value)
        else:
            set_all(self._memory, value)
            self.waiting.stop()

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

    def copy_waiting(self, box: Box) -> Kept | None:
        """A copy that waits to be put back."""
        copy = self.waiting.copy_of(box)
        return None if copy is None else HostKept(self, box, copy)

    def room(self) -> Kept:
        """Room for a copy."""
        return HostKept(self, None, np.empty(self.shape, self.dtype))

    def overlaps(self, other: Elements) -> bool:
        """Whether there are elements in common."""
        return isinstance(other, HostElements) and np.shares_memory(self._memory, other._memory)

    def within(self, box: Box | None) -> Values:
        """Where the elements of a box are, which may wait to be cleared."""
        return self._memory if box is None else part(self._memory, box)


def _part(elements: HostElements, box: Box | None) -> Values:
    return elements._view if box is None else part(elements._view, box)


def _looked_at(elements: Elements, box: Box | None) -> Values:
    return _part(elements, box) if isinstance(elements, HostElements) else elements.read(box)


class HostKept(Kept):
    """A box of elements, and a copy of what was there."""

    __slots__ = ("_box", "_copy", "_elements")

    def __init__(self, elements: HostElements, box: Box | None, copy: Values) -> None:
        self._elements, self._box, self._copy = elements, box, copy
        self.nbytes = copy.nbytes

    @property
    def _memory(self) -> Values:
        return self._elements.within(self._box)

    @property
    def _view(self) -> Values:
        self._elements.waiting.use()
        return self._memory

    @property
    def values(self) -> Values:
        """What is kept."""
        return self._copy

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
