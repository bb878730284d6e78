"""Elements in the memory of the host, and copies of them."""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box, within_shape
from mlirad.runtime.memory.blocks import Blocks
from mlirad.runtime.memory.deferred_writes import Backlog, Copies, DeferredWrites, Room
from mlirad.runtime.memory.memory import Arena, Elements, Index, Kept, Values
from mlirad.runtime.memory.short_axes import SHORT_FILL, assign, copied, exchange, set_all
from mlirad.runtime.memory.values import address_of, bits, part, same_bits


class HostElements(Elements):
    """Elements as NumPy sees them."""

    __slots__ = ("_blocks", "_is_short", "_memory", "deferred")

    deferred: DeferredWrites

    def __init__(
        self, view: Values, room: Room | None = None, blocks: Blocks | None = None
    ) -> None:
        self._memory, self._blocks, self.deferred = view, blocks, DeferredWrites(view, room)
        self.shape, self.dtype, self.nbytes = view.shape, view.dtype, view.nbytes
        self._is_short = view.nbytes <= SHORT_FILL and view.flags.c_contiguous  # and never moves
        self.address = address_of(view)

    @property
    def _view(self) -> Values:
        """The elements, as they are."""
        if self.deferred:
            self.deferred.finish()
        return self._memory

    def put_back(self, copies: Sequence[tuple[Box, Kept]], backlog: Backlog) -> None:
        """Hold again what copies of boxes hold, many of them when they are used."""
        boxes = {  # of several copies of one box the first
            within_shape(box, self.shape): values
            for box, copy in reversed(copies)
            if (values := copy.values) is not None
        }
        if not self.deferred.put_back(boxes, backlog):
            super().put_back(copies, backlog)

    def kept_copies(self, copies: Copies) -> list[tuple[Box, Kept]]:
        return [(box, HostKept(self, box, copy)) for box, copy in copies.values.items()]

    def lend(self, *, writable: bool = False) -> Values | None:
        """A view, read-only unless it is to be `writable`; from now on all writes are done at once,
        and elements stay where they are. None for those that are not at home."""
        if self.deferred.are_elsewhere:
            return None
        self.deferred.is_lent = True
        view = self._view.view()
        view.flags.writeable = writable
        return view

    def move(self, values: Values | None, backlog: Backlog) -> bool:
        """Lie elsewhere; not where elements lie apart, or somebody looks at them at any time."""
        if values is not None and not (
            (values.shape, values.dtype) == (self.shape, self.dtype)
            and self._memory.flags.c_contiguous
            and values.flags.c_contiguous
            and values.flags.aligned
        ):
            return False
        memory = self.deferred.move(values)
        if memory is not None:
            self._memory, self.address = memory, address_of(memory)
            backlog.moves += 1
        return memory is not None

    def get(self, index: Index) -> Any:
        return self._view[index].tolist()

    def put(self, index: Index, value: Any) -> None:
        self._view[index] = value

    def read(self, box: Box | None = None) -> Values:
        return copied(_view_of(self, box), self._blocks)

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements to values, which may be some of these in another order."""
        if isinstance(values, np.ndarray) and np.may_share_memory(values, self._memory):
            values = values.copy()
        if box is None:
            assign(self._memory, values)
            self.deferred.drop()
        else:
            assign(_view_of(self, box), values)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        if where is not None:
            _view_of(self, box)[where] = value
        elif box is not None:
            assign(_view_of(self, box), value)
        else:
            if self._is_short:
                self._memory.fill(value)
            else:
                set_all(self._memory, value)
            self.deferred.drop()

    def any(self) -> bool:
        return bool(self._view.any())

    def checksum(self) -> int:
        flat = np.ascontiguousarray(self._view).reshape(-1)
        return zlib.crc32(flat.view(np.uint8).data)

    def equals(self, values: Values, box: Box | None = None) -> bool:
        return same_bits(_view_of(self, box), values)

    def differing(self, values: Values, box: Box | None = None) -> Values:
        return bits(_view_of(self, box)) != bits(values)

    def take(self, other: Elements, box: Box | None = None) -> None:
        assign(_view_of(self, box), _looked_at(other, box))

    def holds(self, other: Elements, box: Box | None = None) -> bool:
        return self.equals(_looked_at(other, box), box)

    def add(self, other: Elements) -> None:
        view = self._view
        view += _looked_at(other, None)

    def room(self) -> Kept:
        return HostKept(self, None, np.empty(self.shape, self.dtype))

    def overlaps(self, other: Elements) -> bool:
        return isinstance(other, HostElements) and np.shares_memory(self._memory, other._memory)

    def within(self, box: Box | None) -> Values:
        """Return the elements of a box, writes to which may be deferred."""
        return self._memory if box is None else part(self._memory, box)


def _view_of(elements: HostElements, box: Box | None) -> Values:
    return elements._view if box is None else part(elements._view, box)


def _looked_at(elements: Elements, box: Box | None) -> Values:
    return _view_of(elements, box) if isinstance(elements, HostElements) else elements.read(box)


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
        self._elements.deferred.finish()
        return self._memory

    @property
    def values(self) -> Values:
        return self._copy

    @property
    def complete_array(self) -> Elements | None:
        return self._elements if self._copy.shape == self._elements.shape else None

    def move_array(self, backlog: Backlog, *, again: bool) -> bool:
        if self._elements.deferred.are_elsewhere and not again:
            return False
        return self._elements.move(self._copy, backlog)

    @property
    def place(self) -> Hashable:
        return self._elements, self._box

    def renew(self) -> None:
        assign(self._copy, self._view)

    def restore(self) -> None:
        assign(self._view, self._copy)

    def exchange(self) -> None:
        exchange(self._view, self._copy)

    def add(self) -> None:
        view = self._view
        view += self._copy

    def differs(self) -> bool:
        return self._copy.tobytes() != self._view.tobytes()

    def present(self, arena: Arena, name: str) -> Kept:
        return arena.keep(self._elements, self._box, name)
