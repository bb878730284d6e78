"""Patterns of the stored entries of a matrix."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Indices = NDArray[np.int64]


class Pattern:
    """Stored entries, column by column and in order in each: `keys` are column * rows + row."""

    def __init__(self, shape: tuple[int, int], keys: Indices) -> None:
        self.shape, self.keys = shape, keys

    @cached_property
    def rows(self) -> Indices:
        """The row of each entry."""
        return self.keys % self.shape[0]

    @cached_property
    def columns(self) -> Indices:
        """The column of each entry."""
        return self.keys // self.shape[0]

    def keys_of(self, rows: Values, columns: Values) -> Indices:
        """Return the keys of entries."""
        return columns.astype(np.int64) * self.shape[0] + rows

    def positions(self, keys: Indices) -> Indices:
        """Return the positions of entries, all of which are stored, among the stored ones."""
        return np.searchsorted(self.keys, keys)

    def sample(self, other: Pattern, values: Values) -> Values:
        """Return another pattern's values at these entries; 0 where it has none."""
        if not len(other.keys):
            return np.zeros(len(self.keys))
        at = np.minimum(np.searchsorted(other.keys, self.keys), len(other.keys) - 1)
        return np.where(other.keys[at] == self.keys, values[at], 0.0)


def pattern_of(matrix: Any) -> Pattern:
    """Return the pattern of SciPy's matrix in columns, whose indices are sorted."""
    rows, columns = matrix.shape
    owners = np.repeat(np.arange(columns, dtype=np.int64), np.diff(matrix.indptr))
    return Pattern((rows, columns), owners * rows + matrix.indices)
