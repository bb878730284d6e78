"""Tangents that lie in Python's arrays while a program runs: large ones are not copied to fields
and back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mlirad.lang.arguments.array_buffer import ArrayBuffer
from mlirad.lang.arguments.overlaps import extent
from mlirad.lang.field.field import Field
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.derivative_kind import DerivativeKind
from mlirad.runtime.memory.memory import clear_later
from mlirad.runtime.memory.values import address_of
from mlirad.runtime.program import Program

Array = np.ndarray[Any, Any]


class MovedTangents:
    """Directions, which lie in the caller's arrays until something writes to either, and results,
    which lie in the arrays that the caller gets."""

    def __init__(self, program: Program) -> None:
        self._program, self._memory = program, program.executor.memory
        # by the name of the field that they are tangents of
        self._directions: dict[str, list[tuple[Field, Array]]] = {}
        self._results: dict[str, tuple[Field, Array]] = {}  # by their own names

    def _move(self, tangents: Field, values: Array | None) -> bool:
        return tangents.find_memory().elements.move(values, self._program.backlog)

    def set_direction(self, field: Field, kind: DerivativeKind, values: Array) -> None:
        """Let tangents of a field be the caller's."""
        tangents = field.derivative(kind)
        if self._memory.are_moved(values.nbytes) and self._move(tangents, values):
            self._directions.setdefault(field.symbol, []).append((tangents, values))
        else:
            tangents.from_numpy(values)

    def begin_result(self, field: Field, kind: DerivativeKind) -> None:
        """Let tangents of a field, which are 0 at first, be computed where the caller gets them."""
        tangents = field.derivative(kind)
        elements = tangents.find_memory().elements
        shape = (*field.shape, *field.element_shape)  # that of elements, but for nested blocks
        room = self._memory.room_to_move(elements.dtype, shape)
        if room is not None and self._move(tangents, room):
            clear_later(elements, self._program.backlog)
            self._results[tangents.symbol] = tangents, room

    def result(self, field: Field, kind: DerivativeKind) -> Array:
        """Tangents of a field that were computed."""
        tangents = field.derivative(kind)
        if tangents.symbol not in self._results:
            values: Array = tangents.to_numpy()
            return values
        deferred = tangents.find_memory().elements.deferred
        if deferred is not None:
            deferred.finish()
        return self._results[tangents.symbol][1]

    @property
    def are_directions(self) -> bool:
        """Return whether tangents lie in the caller's arrays."""
        return bool(self._directions)

    def before_write(self, symbols: Collection[str]) -> None:
        """Move tangents of fields that something is about to write to."""
        if self._directions.keys().isdisjoint(symbols):
            return
        for symbol in symbols:
            for tangents, values in self._directions.pop(symbol, ()):
                self._move(tangents, None)
                tangents.find_memory().elements.write(values)

    def before_array_write(self, begin: int, end: int) -> None:
        """Move tangents that lie in memory which something is about to write to, up to an
        address."""
        symbols = [
            symbol
            for symbol, directions in self._directions.items()
            if any(_lies_in(values, begin, end) for _, values in directions)
        ]
        self.before_write(symbols)

    def before_ndarray_write(self, array: Ndarray) -> None:
        """Move tangents that lie in an ndarray which Python is about to write to."""
        self.before_array_write(array.address, array.address + array.elements.nbytes)

    def before_arrays_write(self, buffers: Sequence[ArrayBuffer]) -> None:
        """Move tangents that lie in arrays which a launch is about to write to, or in copies of
        them."""
        for buffer in buffers:
            self.before_array_write(*extent(buffer))

    def return_home(self) -> None:
        """The program has run: let all tangents lie in fields again."""
        moved = [pair for pairs in self._directions.values() for pair in pairs]
        for tangents, _ in [*moved, *self._results.values()]:
            self._move(tangents, None)
        self._directions.clear()
        self._results.clear()


def _lies_in(values: Array, begin: int, end: int) -> bool:
    """Return whether some of a contiguous array lies between two addresses."""
    address = address_of(values)
    return address < end and begin < address + values.nbytes
