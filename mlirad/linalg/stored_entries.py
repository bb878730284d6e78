"""The stored entries of a sparse matrix, and their adjoints while a tape runs back."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mlirad.linalg.pattern import Pattern, Values, pattern_of
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.vectors import check_dtype
from mlirad.types import DataType


class StoredEntries:
    """SciPy's matrix in columns, indices in order, which nobody changes.

    `carries` says that a derivative passes through it, on the tape on which it was made. Raises
    TaichiTypeError for another type than f32 and f64.
    """

    def __init__(self, columns: Any, dtype: DataType, carries: bool) -> None:
        self.dtype, self.carries = check_dtype(dtype), carries
        columns.sum_duplicates()
        self.columns = columns.astype(dtype.numpy)
        self.adjoint: Values | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.columns.shape
        return int(rows), int(columns)

    @cached_property
    def pattern(self) -> Pattern:
        """Return the pattern of stored entries."""
        return pattern_of(self.columns)

    @property
    def values(self) -> Values:
        """The stored entries, in f64."""
        values: Values = self.columns.data.astype(np.float64)
        return values

    @property
    def wide(self) -> Any:
        """SciPy's matrix, in f64."""
        return self.columns.astype(np.float64)

    def add_adjoint(self, amounts: Values) -> None:
        """Add to the adjoint of each stored entry, where a derivative passes."""
        if self.carries:
            self.adjoint = amounts if self.adjoint is None else self.adjoint + amounts

    def add_outer(self, rows: Values, columns: Values) -> None:
        """Add the product of two vectors to the adjoints of the stored entries."""
        if self.carries:
            at = self.pattern
            self.add_adjoint(rows[at.rows] * columns[at.columns])

    def take_adjoint(self) -> Values | None:
        """The adjoints, which are 0 from then on; None if there are none."""
        adjoint, self.adjoint = self.adjoint, None
        return adjoint

    def __str__(self) -> str:
        return f"a sparse matrix of shape {self.shape} of {self.dtype}"


def from_pattern(pattern: Pattern, values: Values, dtype: DataType, carries: bool) -> StoredEntries:
    """Values at some entries, zeros too."""
    return StoredEntries(wide_matrix(pattern, values), dtype, carries)


def wide_matrix(pattern: Pattern, values: Values) -> Any:
    """SciPy's matrix of values at some entries."""
    keys = np.arange(pattern.shape[1] + 1, dtype=np.int64) * pattern.shape[0]
    starts = np.searchsorted(pattern.keys, keys)
    return scipy_module("sparse").csc_matrix((values, pattern.rows, starts), pattern.shape)
