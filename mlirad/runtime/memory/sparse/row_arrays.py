"""Arrays with their axes outermost first, of which rows are read and set: those at places of some
of the first axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mlirad.runtime.memory.sparse.touched import Pieces, Places
from mlirad.runtime.memory.values import Values


class RowArray(ABC):
    """An array of a machine. Without places, all of it is one row."""

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of all of it."""
        return self.dtype.itemsize * int(np.prod(self.shape, dtype=np.int64))

    @abstractmethod
    def split(self, pieces: Pieces) -> RowArray:
        """Return the same array in pieces."""

    @abstractmethod
    def look(self, places: Places) -> Values:
        """Rows, which nobody changes: as they are now, or as they are at any time."""

    @abstractmethod
    def load(self, places: Places) -> Values:
        """A copy of rows, on the host."""

    @abstractmethod
    def store(self, places: Places, values: Any) -> None:
        """Set rows, to a number or to values of the host."""

    @abstractmethod
    def set_where(self, places: Places, where: Values, value: Any) -> None:
        """Set some elements of rows to a number."""

    @abstractmethod
    def hold(self, places: Places) -> RowCopy:
        """A copy of rows, on the machine."""


class RowCopy(ABC):
    """A copy of rows on their machine."""

    __slots__ = ("nbytes",)

    nbytes: int

    @abstractmethod
    def values(self) -> Values:
        """The copy, on the host."""

    @abstractmethod
    def put(self, target: RowArray, places: Places) -> None:
        """Set as many rows, of this array or of one alike."""

    @abstractmethod
    def add(self, target: RowArray, places: Places) -> None:
        """Add to as many rows."""

    @abstractmethod
    def has_bits_of(self, other: RowCopy) -> bool:
        """Return whether another copy of as many rows holds the same."""


class HostRowArray(RowArray):
    """As NumPy sees it."""

    __slots__ = ("_view",)

    def __init__(self, view: Values) -> None:
        self._view, self.shape, self.dtype = view, view.shape, view.dtype

    def split(self, pieces: Pieces) -> HostRowArray:
        return HostRowArray(pieces.split(self._view))

    def look(self, places: Places) -> Values:
        return self._view[places] if places else self._view[np.newaxis]

    def load(self, places: Places) -> Values:
        return self._view[places] if places else self._view[np.newaxis].copy()

    def store(self, places: Places, values: Any) -> None:
        if places:
            self._view[places] = values
        else:
            self._view[...] = values if np.ndim(values) == 0 else values[0]

    def set_where(self, places: Places, where: Values, value: Any) -> None:
        rows = self.load(places)
        rows[where] = value
        self.store(places, rows)

    def hold(self, places: Places) -> RowCopy:
        return HostRowCopy(self.load(places))


class HostRowCopy(RowCopy):
    """A copy that NumPy sees."""

    __slots__ = ("_values",)

    def __init__(self, values: Values) -> None:
        self._values, self.nbytes = values, values.nbytes

    def values(self) -> Values:
        return self._values

    def put(self, target: RowArray, places: Places) -> None:
        target.store(places, self._values)

    def add(self, target: RowArray, places: Places) -> None:
        target.store(places, target.look(places) + self._values)

    def has_bits_of(self, other: RowCopy) -> bool:
        return self._values.tobytes() == other.values().tobytes()
