"""Elements in sparse blocks, in the memory of the host: what is not touched is not looked at."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import available_memory
from mlirad.runtime.memory.host_elements import HostElements
from mlirad.runtime.memory.memory import (
    Allocation,
    Arena,
    Elements,
    Index,
    Kept,
    Nesting,
    SparseBlock,
    SparseElements,
    Values,
)
from mlirad.runtime.memory.touched import Around
from mlirad.runtime.memory.touched_view import HostActivity, TouchedView
from mlirad.runtime.memory.values import part

_FEW = 1 << 12  # elements that are gone through as they are
_SEEN_WHOLE = 1 << 26  # bytes of a derivative, which may be read where its field is not active


class SparseHostElements(HostElements, SparseElements):
    """Elements in sparse blocks, as NumPy sees them."""

    __slots__ = ("_allocation", "_nesting", "activity", "order", "touched")

    def __init__(self, view: Values, nesting: Nesting, allocation: Allocation) -> None:
        super().__init__(view)
        self._nesting, self._allocation, self.order = nesting, allocation, nesting.order
        ordered = view.transpose(self.order)
        self.activity = None if nesting.own is None else HostActivity(ordered)
        around = [Around(block.depth, block.is_list) for block in nesting.blocks]
        activities = [_activity(block) for block in nesting.blocks]
        if self.activity is not None:
            around.append(Around(view.ndim, is_list=False))
            activities.append(self.activity)
        self.touched = TouchedView(ordered, around, activities)

    def settle(self) -> None:
        """Forget what was left in memory."""
        if self.activity is not None:
            self.activity.settle()

    def copy_bytes(self) -> int:
        """The bytes of a copy."""
        pieces = self.touched.pieces
        return len(pieces.keys(self.touched.places())) * pieces.nbytes

    def copy_takes(self, size: int) -> bool:
        """Whether a copy takes so many bytes, about; known without looking at all of them."""
        pieces = self.touched.pieces
        return self.touched.are_more(size // pieces.nbytes)

    # To the host and from it.

    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index; of a slice, which is of all, the active ones."""
        if any(isinstance(one, slice) for one in index):
            places, box = self.touched.places(), _box(index, len(self.shape))
            where = self._inside(box, places) & self.touched.active(places)
            self.touched.set_where(places, where, value)
        else:
            super().put(index, value)

    def read(self, box: Box | None = None) -> Values:
        """A copy, of what it touches."""
        if self._is_small(box):
            return super().read(box)
        found, places = self._room(), self.touched.places()
        self.touched.put_into(self._ordered(found), places, self.touched.load(places))
        return found if box is None else part(found, box)

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements, of all the active ones, to values."""
        if self._is_small(box):
            super().write(values, box)
        elif box is None or _is_whole(box):
            self.write_active(np.broadcast_to(values, self.shape))
        else:
            whole = self.read()
            part(whole, box)[...] = values
            self.write_active(whole)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number; all of them to 0, or else the active ones."""
        if where is not None or self._is_small(box):
            super().fill(value, box, where)
        elif box is not None and not _is_whole(box):
            places = self.touched.places()
            self.touched.set_where(places, self._inside(box, places), value)
        elif value == 0:
            self._clear()
        else:
            self.fill_active(value)

    def _clear(self) -> None:
        if self._nesting.is_derivative:
            self._allocation.clear()
        else:
            self.touched.store(self.touched.places(), 0)

    # Active elements.

    def read_active(self) -> Values:
        """A copy, 0 where elements are not active; of a derivative all that there is."""
        if self._nesting.is_derivative and self.nbytes <= _SEEN_WHOLE:
            return self._view.copy()
        found, places = self._room(), self.touched.places()
        values = self.touched.load(places)
        if not self._nesting.is_derivative:
            values[~self.touched.active(places)] = 0
        self.touched.put_into(self._ordered(found), places, values)
        return found

    def write_active(self, values: Values) -> None:
        """Set active elements."""
        places = self.touched.places()
        new = self.touched.taken(self._ordered(values), places)
        where = self.touched.active(places)
        self.touched.store(places, np.where(where, new, self.touched.load(places)))

    def fill_active(self, value: Any) -> None:
        """Set active elements to one number."""
        places = self.touched.places()
        self.touched.set_where(places, self.touched.active(places), value)

    # What comes down to a number.

    def any(self) -> bool:
        """Whether one of those that may differ from 0 does."""
        return bool(self.touched.load(self.touched.places()).any())

    def checksum(self) -> int:
        """A CRC-32 of the pieces that are not 0, and of where they are."""
        places = self.touched.places()
        found = self.touched.load(places)
        other = found.reshape(len(found), -1).any(1)
        keys = zlib.crc32(self.touched.pieces.keys(places)[other].tobytes())
        return zlib.crc32(found[other].tobytes(), keys)

    # Others, and copies.

    def take(self, other: Elements, box: Box | None = None) -> None:
        """Set elements to others."""
        if _is_whole(box) and isinstance(other, SparseHostElements) and _are_alike(self, other):
            self._clear()
            places = other.touched.places()
            self.touched.leave(places)
            self.touched.store(places, other.touched.load(places))
        else:
            super().take(other, box)

    def add(self, other: Elements) -> None:
        """Add others."""
        if isinstance(other, SparseHostElements) and _are_alike(self, other):
            places = other.touched.places()
            self.touched.store(places, self.touched.load(places) + other.touched.load(places))
        else:
            super().add(other)

    def room(self) -> Kept:
        """Room for a copy."""
        return SparseKept(self, self.copy_bytes())

    def _is_small(self, box: Box | None) -> bool:
        """Whether elements are gone through as those of dense blocks."""
        if not self.touched.pieces.depth:
            return True
        if box is None or len(box) != len(self.shape):
            return False
        count = 1
        for (low, high), extent in zip(box, self.shape):
            first = 0 if low is None else max(0, low)
            last = extent - 1 if high is None else min(high, extent - 1)
            count *= max(0, last - first + 1)
        return count <= _FEW

    def _room(self) -> Values:
        """Zeros for all elements."""
        if self.nbytes > available_memory():
            raise TaichiMemoryError(
                f"a copy of all elements of a field in memory of shape {self.shape}, inactive ones "
                f"too, takes {self.nbytes} bytes ({self.nbytes / 2**30:.1f} GiB), more than there "
                "are: go through its active elements in a kernel"
            )
        return np.zeros(self.shape, self.dtype)

    def _ordered(self, values: Values) -> Values:
        """Values of all elements, with the axes outermost first."""
        return values.transpose(self.order)

    def _inside(self, box: Box, places: tuple[Values, ...]) -> Values:
        """Which elements of pieces lie in a box."""
        return self.touched.inside(tuple(box[axis] for axis in self.order), places)


def _are_alike(one: SparseHostElements, other: SparseHostElements) -> bool:
    """Whether elements fall into pieces of the same places."""
    first, second = one.touched.pieces, other.touched.pieces
    same = (first.shape, first.depth, first.group) == (second.shape, second.depth, second.group)
    return same and one.order == other.order


def _activity(block: SparseBlock) -> HostActivity:
    assert isinstance(block.cells, SparseHostElements) and block.cells.activity is not None
    return block.cells.activity


def _is_whole(box: Box | None) -> bool:
    return box is None or all(low is None and high is None for low, high in box)


def _box(index: Index, rank: int) -> Box:
    """The box of an index; a slice stands for all of an axis."""
    found = [(None, None) if isinstance(one, slice) else (one, one) for one in index]
    return (*found, *((None, None),) * (rank - len(index)))


class SparseKept(Kept):
    """The pieces that may have differed from 0 at some time, and what they held."""

    __slots__ = ("_elements", "_keys", "_values")

    def __init__(self, elements: SparseHostElements, nbytes: int = 0) -> None:
        self._elements, self.nbytes = elements, nbytes
        self._keys, self._values = np.empty(0, np.int64), np.empty(0, elements.dtype)

    @property
    def place(self) -> Hashable:
        """Where the elements are."""
        view = self._elements._view
        return self._elements.address, view.shape, view.strides, "touched"

    def renew(self) -> None:
        """Hold the elements as they are now."""
        self._keys, self._values = self._now()
        self.nbytes = self._keys.nbytes + self._values.nbytes

    def _now(self) -> tuple[Values, Values]:
        touched = self._elements.touched
        places = touched.places()
        return touched.pieces.keys(places), touched.load(places)

    def restore(self) -> None:
        """Let memory hold the kept elements."""
        touched = self._elements.touched
        self._put(touched.pieces.keys(touched.places()))

    def exchange(self) -> None:
        """Swap the kept elements with those in memory."""
        keys, values = self._now()
        self._put(keys)
        self._keys, self._values = keys, values
        self.nbytes = keys.nbytes + values.nbytes

    def _put(self, now: Values) -> None:
        """Let memory, where some pieces may differ from 0, hold the kept ones."""
        touched, then = self._elements.touched, self._keys
        pieces, places = touched.pieces, touched.pieces.at(then)
        if self._elements.activity is not None:
            self._elements.activity.leave_all(pieces.at(now), pieces)
        if not np.array_equal(now, then):
            touched.store(pieces.at(np.setdiff1d(now, then, assume_unique=True)), 0)
            touched.leave(places)
        touched.store(places, self._values)

    def add(self) -> None:
        """Add the kept elements to those in memory."""
        touched = self._elements.touched
        places = touched.pieces.at(self._keys)
        touched.store(places, touched.load(places) + self._values)

    def differs(self) -> bool:
        """Whether memory holds other bits now."""
        keys, values = self._now()
        if np.array_equal(keys, self._keys):
            return values.tobytes() != self._values.tobytes()
        _, here, there = np.intersect1d(keys, self._keys, assume_unique=True, return_indices=True)
        if values[here].tobytes() != self._values[there].tobytes():
            return True
        return _differ_elsewhere(values, here) or _differ_elsewhere(self._values, there)

    def present(self, arena: Arena, name: str) -> Kept:
        """A copy of the same elements as they are now."""
        return arena.keep(self._elements, None, name)


def _differ_elsewhere(values: Values, known: Values) -> bool:
    """Whether other pieces than some differ from 0 in a bit."""
    return any(np.delete(values, known, axis=0).tobytes())
