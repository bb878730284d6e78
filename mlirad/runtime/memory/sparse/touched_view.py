"""Elements in sparse blocks, in pieces, of which some are touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.reserved import Reserved
from mlirad.runtime.memory.sparse.row_arrays import HostRowArray, RowArray
from mlirad.runtime.memory.sparse.touched import Around, Pieces, Places
from mlirad.runtime.memory.values import Values


class Activity:
    """The activity of a block.

    Launches leave 0 in what is not active, or mark it as touched. What is put back may leave other
    numbers there; until memory is settled, `_left` notes, on the host, where activity no longer
    says so.
    """

    __slots__ = ("_left", "cells")

    def __init__(self, cells: RowArray) -> None:
        self.cells = cells
        self._left: Values | None = None

    def look(self, places: Places) -> Values:
        """Return the values at some of its first axes, or those that were left."""
        now = self.cells.look(places)
        if self._left is None:
            return now
        return np.maximum(now, HostRowArray(self._left).look(places))

    def leave(self, block: Around, places: Places, pieces: Pieces) -> None:
        """Note that pieces of elements below hold numbers."""
        left = pieces.split(self._left_values())
        if not block.is_list:
            left[places[: block.depth]] = 1
            return
        is_grouped = block.depth == pieces.depth
        lengths = (places[block.depth - 1] + 1) * (pieces.group if is_grouped else 1)
        rows = places[: block.depth - 1] or (np.zeros(len(lengths), np.int64),)
        np.maximum.at(np.atleast_1d(left), rows, lengths.astype(left.dtype))

    def leave_all(self, places: Places, pieces: Pieces) -> None:
        """Note what it says now in pieces of its own, before it is set to what it was earlier."""
        left, now = (
            HostRowArray(pieces.split(self._left_values())),
            self.cells.split(pieces).look(places),
        )
        left.store(places, np.maximum(left.look(places), now))

    def _left_values(self) -> Values:
        if self._left is None:
            room = Reserved(max(1, self.cells.nbytes)).data.data
            self._left = np.ndarray(self.cells.shape, self.cells.dtype, room)
        return self._left

    def settle(self) -> None:
        """Forget what was noted."""
        self._left = None


class TouchedView:
    """Elements, and the activity of each of the blocks `around`."""

    __slots__ = ("activities", "around", "elements", "pieces")

    def __init__(
        self, elements: RowArray, around: Sequence[Around], activities: Sequence[Activity]
    ) -> None:
        self.around, self.activities = around, activities
        self.pieces = Pieces(elements.shape, elements.dtype.itemsize, around)
        self.elements = elements.split(self.pieces)

    def places(self) -> Places:
        """The pieces that may hold anything but 0."""
        return self.pieces.find([activity.look for activity in self._looked_at()])

    def are_more(self, count: int) -> bool:
        """Return whether there are more pieces than a number, or cells around them, each of which
        has one as a rule."""
        steps = self.pieces.steps([activity.look for activity in self._looked_at()])
        return any(len(places[0]) > count for places in steps)

    def _looked_at(self) -> Sequence[Activity]:
        return self.activities[: len(self.pieces.blocks)]

    def leave(self, places: Places) -> None:
        """Note that pieces hold numbers, whatever their activity says."""
        for block, activity in zip(self.pieces.blocks, self._looked_at()):
            activity.leave(block, places, self.pieces)

    def pick(self, values: Values, places: Places) -> Values:
        """Return the values of pieces, from values of all elements."""
        view = self.pieces.split(values)
        return view[places] if places else view[np.newaxis]

    def put_into(self, values: Values, places: Places, new: Values) -> None:
        """Set pieces of values of all elements."""
        view = self.pieces.split(values)
        if places:
            view[places] = new
        else:
            view[...] = new[0]

    def active(self, places: Places) -> Values:
        """Return which elements of pieces are active."""
        pieces = self.pieces
        mask = np.ones((len(pieces.keys(places)), *pieces.inner), bool)
        for block, activity in zip(self.around, self.activities):
            cells = activity.cells.split(pieces)
            rank = len(cells.shape)
            values = cells.look(places[:rank])
            trailing = len(pieces.shape) - max(pieces.depth, rank)
            values = values.reshape(*values.shape, *(1,) * trailing)
            if block.is_list:
                mask &= pieces.numbers(block.depth - 1, places) < values
            else:
                mask &= values == 1
        return mask

    def inside(self, box: Box, places: Places) -> Values:
        """Return which elements of pieces are in a box, its axes outermost first."""
        mask = np.ones((len(self.pieces.keys(places)), *self.pieces.inner), bool)
        for axis, (low, high) in enumerate(box):
            if low is not None:
                mask &= self.pieces.numbers(axis, places) >= low
            if high is not None:
                mask &= self.pieces.numbers(axis, places) <= high
        return mask
