"""Elements in sparse blocks, on any machine: what is not touched is not looked at."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlirad.errors import TaichiMemoryError
from mlirad.runtime.boxes import Box
from mlirad.runtime.capacity import available_memory
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
from mlirad.runtime.memory.sparse.row_arrays import RowArray, RowCopy
from mlirad.runtime.memory.sparse.touched import Around
from mlirad.runtime.memory.sparse.touched_view import Activity, TouchedView
from mlirad.runtime.memory.values import part

_FEW = 1 << 12  # elements that are gone through as they are
_SEEN_WHOLE = 1 << 26  # bytes of a derivative, which may be read where its field is not active


class TouchedElements(SparseElements):
    """Elements that are also a machine's plain ones, which `plain` gives: few of them are gone
    through as those."""

    __slots__ = ()

    activity: Activity | None
    order: tuple[int, ...]
    touched: TouchedView
    _allocation: Allocation
    _nesting: Nesting

    @property
    @abstractmethod
    def plain(self) -> Elements:
        """The elements as those of dense blocks."""

    @property
    @abstractmethod
    def place_of_all(self) -> Hashable:
        """Return a key of the place of all elements."""

    def settle(self) -> None:
        """Forget what was left in memory."""
        if self.activity is not None:
            self.activity.settle()

    def copy_bytes(self) -> int:
        pieces = self.touched.pieces
        return len(pieces.keys(self.touched.places())) * pieces.nbytes

    def copy_takes(self, size: int) -> bool:
        pieces = self.touched.pieces
        return self.touched.are_more(size // pieces.nbytes)

    # To the host and from it.

    def put(self, index: Index, value: Any) -> None:
        """Set the elements at an index; of a slice, which is of all, the active ones."""
        if any(isinstance(entry, slice) for entry in index):
            self.fill_active(value, _box(index, len(self.shape)))
        else:
            self.plain.put(index, value)

    def read(self, box: Box | None = None) -> Values:
        """A copy, of what it touches."""
        if _is_small(self, box):
            return self.plain.read(box)
        values, places = _room_for_all(self), self.touched.places()
        self.touched.put_into(
            values.transpose(self.order), places, self.touched.elements.load(places)
        )
        return values if box is None else part(values, box)

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set elements, of all the active ones, to values."""
        if _is_small(self, box):
            self.plain.write(values, box)
        elif box is None or _is_whole(box):
            self.write_active(np.broadcast_to(values, self.shape))
        else:
            everything = self.read()
            part(everything, box)[...] = values
            self.write_active(everything)

    def fill(self, value: Any, box: Box | None = None, where: Values | None = None) -> None:
        """Set elements to one number; all of them to 0, or else the active ones."""
        if where is not None or _is_small(self, box):
            self.plain.fill(value, box, where)
        elif box is not None and not _is_whole(box):
            places = self.touched.places()
            self.touched.elements.set_where(places, _inside(self, box, places), value)
        elif value == 0:
            self._clear()
        else:
            self.fill_active(value)

    def _clear(self) -> None:
        if self._nesting.is_derivative:
            self._allocation.clear()
        else:
            self.touched.elements.store(self.touched.places(), 0)

    # Active elements.

    def read_active(self) -> Values:
        """A copy, 0 where elements are not active; of a derivative all that there is."""
        if self._nesting.is_derivative and self.nbytes <= _SEEN_WHOLE:
            return self.plain.read()
        dense, places = _room_for_all(self), self.touched.places()
        values = self.touched.elements.load(places)
        if not self._nesting.is_derivative:
            values[~self.touched.active(places)] = 0
        self.touched.put_into(dense.transpose(self.order), places, values)
        return dense

    def write_active(self, values: Values) -> None:
        places = self.touched.places()
        new = self.touched.pick(values.transpose(self.order), places)
        where = self.touched.active(places)
        self.touched.elements.store(
            places, np.where(where, new, self.touched.elements.load(places))
        )

    def write_all(self, values: Values) -> None:
        self.fill(0)
        ordered = values.transpose(self.order)
        places = self.touched.pieces.of_values(ordered)
        self.touched.leave(places)
        self.touched.elements.store(places, self.touched.pick(ordered, places))

    def fill_active(self, value: Any, box: Box | None = None) -> None:
        places = self.touched.places()
        where = self.touched.active(places)
        if box is not None and len(box) == len(self.shape):
            where &= _inside(self, box, places)
        self.touched.elements.set_where(places, where, value)

    # What comes down to a number.

    def any(self) -> bool:
        return bool(self.touched.elements.load(self.touched.places()).any())

    def checksum(self) -> int:
        """A CRC-32 of the pieces that are not 0, and of where they are."""
        places = self.touched.places()
        pieces = self.touched.elements.load(places)
        other = pieces.reshape(len(pieces), -1).any(1)
        keys = zlib.crc32(self.touched.pieces.keys(places)[other].tobytes())
        return zlib.crc32(pieces[other].tobytes(), keys)

    # Others, and copies.

    def take(self, other: Elements, box: Box | None = None) -> None:
        if _is_whole(box) and isinstance(other, TouchedElements) and _are_alike(self, other):
            self._clear()
            places = other.touched.places()
            self.touched.leave(places)
            if other.dtype == self.dtype:
                other.touched.elements.hold(places).put(self.touched.elements, places)
            else:
                self.touched.elements.store(places, other.touched.elements.load(places))
        else:
            self.plain.take(other, box)

    def add(self, other: Elements) -> None:
        if isinstance(other, TouchedElements) and _are_alike(self, other):
            places = other.touched.places()
            other.touched.elements.hold(places).add(self.touched.elements, places)
        else:
            self.plain.add(other)

    def combine(self, other: Elements, *, adds: bool) -> bool:
        """Set active elements to others, or add those of the others that are active."""
        if not isinstance(other, TouchedElements) or not _are_alike(self, other):
            return False
        deciding = other.touched if adds else self.touched
        places = deciding.places()
        where, now = deciding.active(places), self.touched.elements.load(places)
        new = other.touched.elements.load(places) + (now if adds else 0)
        self.touched.elements.store(places, np.where(where, new, now))
        return True

    def room(self) -> Kept:
        return TouchedKept(self, self.copy_bytes())


def touched_view(ordered: RowArray, nesting: Nesting) -> tuple[Activity | None, TouchedView]:
    """Return the view of elements by the activity of the blocks around them, and their own
    activity, if they are that of a block."""
    activity = None if nesting.own_kind is None else Activity(ordered)
    around = [Around(block.depth, block.is_list) for block in nesting.blocks]
    activities = [_activity(block) for block in nesting.blocks]
    if activity is not None:
        around.append(Around(len(ordered.shape), is_list=False))
        activities.append(activity)
    return activity, TouchedView(ordered, around, activities)


def _is_small(elements: TouchedElements, box: Box | None) -> bool:
    """Return whether elements are gone through as those of dense blocks."""
    if not elements.touched.pieces.depth:
        return True
    if box is None or len(box) != len(elements.shape):
        return False
    count = 1
    for (low, high), extent in zip(box, elements.shape):
        first = 0 if low is None else max(0, low)
        last = extent - 1 if high is None else min(high, extent - 1)
        count *= max(0, last - first + 1)
    return count <= _FEW


def _room_for_all(elements: Elements) -> Values:
    """Zeros for all elements."""
    if elements.nbytes > available_memory():
        raise TaichiMemoryError(
            f"a copy of all elements of a field in memory of shape {elements.shape}, including "
            f"inactive ones, takes {elements.nbytes} bytes ({elements.nbytes / 2**30:.1f} GiB), "
            "more than is available: loop over its active elements in a kernel"
        )
    return np.zeros(elements.shape, elements.dtype)


def _activity(block: SparseBlock) -> Activity:
    assert isinstance(block.cells, TouchedElements) and block.cells.activity is not None
    return block.cells.activity


def _inside(elements: TouchedElements, box: Box, places: tuple[Values, ...]) -> Values:
    """Return which elements of pieces are in a box."""
    return elements.touched.inside(tuple(box[axis] for axis in elements.order), places)


def _is_whole(box: Box | None) -> bool:
    return box is None or all(low is None and high is None for low, high in box)


def _box(index: Index, rank: int) -> Box:
    """The box of an index; a slice stands for all of an axis."""
    spans = [(None, None) if isinstance(entry, slice) else (entry, entry) for entry in index]
    return (*spans, *((None, None),) * (rank - len(index)))


def _are_alike(left: TouchedElements, right: TouchedElements) -> bool:
    """Return whether elements fall into pieces of the same places."""
    first, second = left.touched.pieces, right.touched.pieces
    same = (first.shape, first.depth, first.group) == (second.shape, second.depth, second.group)
    return same and left.order == right.order


class TouchedKept(Kept):
    """The pieces that may have differed from 0 at some time, and what they held."""

    __slots__ = ("_elements", "_held", "_keys")

    def __init__(self, elements: TouchedElements, nbytes: int = 0) -> None:
        self._elements, self.nbytes = elements, nbytes
        self._keys: Values = np.empty(0, np.int64)
        self._held: RowCopy | None = None

    @property
    def place(self) -> Hashable:
        return self._elements.place_of_all, "touched"

    def renew(self) -> None:
        self._hold(*self._now())

    def _hold(self, keys: Values, copy: RowCopy) -> None:
        self._keys, self._held = keys, copy
        self.nbytes = keys.nbytes + copy.nbytes

    def _now(self) -> tuple[Values, RowCopy]:
        touched = self._elements.touched
        places = touched.places()
        return touched.pieces.keys(places), touched.elements.hold(places)

    def restore(self) -> None:
        touched = self._elements.touched
        self._put(touched.pieces.keys(touched.places()))

    def exchange(self) -> None:
        keys, copy = self._now()
        self._put(keys)
        self._hold(keys, copy)

    def _put(self, now: Values) -> None:
        """Let memory, where some pieces may differ from 0, hold the kept ones."""
        touched, then = self._elements.touched, self._keys
        pieces, places = touched.pieces, touched.pieces.at(then)
        if self._elements.activity is not None:
            self._elements.activity.leave_all(pieces.at(now), pieces)
        if not np.array_equal(now, then):
            touched.elements.store(pieces.at(np.setdiff1d(now, then, assume_unique=True)), 0)
            touched.leave(places)
        if self._held is not None:
            self._held.put(touched.elements, places)

    def add(self) -> None:
        touched = self._elements.touched
        if self._held is not None:
            self._held.add(touched.elements, touched.pieces.at(self._keys))

    def differs(self) -> bool:
        keys, copy = self._now()
        if self._held is None:
            return bool(copy.values().any())
        if np.array_equal(keys, self._keys):
            return not copy.has_bits_of(self._held)
        values, then = copy.values(), self._held.values()
        _, positions, other_positions = np.intersect1d(
            keys, self._keys, assume_unique=True, return_indices=True
        )
        if values[positions].tobytes() != then[other_positions].tobytes():
            return True
        return _differ_elsewhere(values, positions) or _differ_elsewhere(then, other_positions)

    def present(self, arena: Arena, name: str) -> Kept:
        return arena.keep(self._elements, None, name)


def _differ_elsewhere(values: Values, positions: Values) -> bool:
    """Return whether other pieces than some differ from 0 in a bit."""
    return any(np.delete(values, positions, axis=0).tobytes())
