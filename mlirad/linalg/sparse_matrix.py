"""Sparse matrices in Python scope."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from mlirad.checks import file_name, integer, number, whole
from mlirad.errors import TaichiIndexError, TaichiRuntimeError, TaichiTypeError
from mlirad.lang.ndarray import Ndarray
from mlirad.linalg.pattern import Indices, Values
from mlirad.linalg.products import times_vector
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.sparse_algebra import add_scaled, entrywise, product, scale, transpose
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.types import TypeLike, f32, resolve

LARGEST = 2**31 - 1  # rows or columns


class SparseMatrix:
    """An n×m sparse matrix of f32 or f64.

    Args:
        n: the number of rows.
        m: the number of columns, n by default.
        sm: a SciPy matrix to copy.
        dtype: f32 or f64.
        storage_format: has no effect; entries are stored column by column.

    Raises:
        TaichiTypeError: the type is not f32 or f64.
        TaichiRuntimeError: there is no size.
    """

    def __init__(
        self,
        n: int | None = None,
        m: int | None = None,
        sm: Any = None,
        dtype: TypeLike = f32,
        storage_format: str = "col_major",
    ) -> None:
        sizes = [0 if size is None else whole(size, "n, m") for size in (n, n if m is None else m)]
        if sm is None and min(sizes) <= 0:
            raise TaichiRuntimeError(
                f"expected the numbers of rows and columns of a sparse matrix, got {n} and {m}"
            )
        if max(sizes) > LARGEST:
            raise TaichiRuntimeError(
                f"a sparse matrix of {sizes} has more than {LARGEST} to a side"
            )
        shape = tuple(sizes) if sm is None else sm
        columns = scipy_module("sparse").csc_matrix(shape, dtype=np.float64, copy=True)
        self.stored = StoredEntries(columns, resolve(dtype), False)

    @classmethod
    def holding(cls, stored: StoredEntries) -> SparseMatrix:
        """Return a matrix of stored entries."""
        matrix = cls.__new__(cls)
        matrix.stored = stored
        return matrix

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        return self.stored.shape

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """Return the number of columns."""
        return self.shape[1]

    @property
    def dtype(self) -> Any:
        """Return f32 or f64."""
        return self.stored.dtype

    def __add__(self, other: SparseMatrix) -> SparseMatrix:
        """The sum. Raises TaichiRuntimeError if shapes or types differ."""
        return self.holding(add_scaled(self.stored, self._alike(other), 1.0))

    def __sub__(self, other: SparseMatrix) -> SparseMatrix:
        """The difference. Raises TaichiRuntimeError if shapes or types differ."""
        return self.holding(add_scaled(self.stored, self._alike(other), -1.0))

    def __mul__(self, other: Any) -> SparseMatrix:
        """Entry by entry with another matrix, or times a number."""
        if isinstance(other, int | float | np.number):
            return self.holding(scale(self.stored, float(other)))
        return self.holding(entrywise(self.stored, self._alike(other)))

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Any:
        """The product with a matrix, or with a vector: an ndarray for an ndarray, else an array of
        NumPy's. Raises TaichiRuntimeError if shapes, TaichiTypeError if types differ."""
        if not isinstance(other, SparseMatrix):
            return times_vector(self.stored, other)
        if self.m != other.n or self.dtype != other.dtype:
            raise TaichiRuntimeError(f"{self.stored} cannot be multiplied by {other.stored}")
        return self.holding(product(self.stored, other.stored))

    def transpose(self) -> SparseMatrix:
        """Return the transpose."""
        return self.holding(transpose(self.stored))

    @property
    def T(self) -> SparseMatrix:
        """Return the transpose."""
        return self.transpose()

    def _alike(self, other: object) -> StoredEntries:
        if not isinstance(other, SparseMatrix):
            raise TaichiTypeError(f"expected a sparse matrix, got {type(other).__name__}")
        if self.shape != other.shape or self.dtype != other.dtype:
            raise TaichiRuntimeError(f"{self.stored} and {other.stored} do not fit")
        return other.stored

    def __getitem__(self, indices: tuple[int, int]) -> float:
        """An entry. Raises TaichiIndexError outside of the matrix."""
        return float(self.stored.columns[self._position(indices)])

    def __setitem__(self, indices: tuple[int, int], value: float) -> None:
        """Set an entry. Raises TaichiIndexError outside of the matrix, TaichiRuntimeError if a
        derivative passes through the matrix, on a tape."""
        at = self._position(indices)
        if self.stored.carries and is_recording():
            raise TaichiRuntimeError(
                "entries of a sparse matrix through which derivatives pass cannot be set on a tape"
            )
        changed = self.stored.columns.tolil()
        changed[at] = number(value, "an entry of a sparse matrix", finite=False)
        self.stored = StoredEntries(changed.tocsc(), self.dtype, False)

    def _position(self, indices: object) -> tuple[int, int]:
        if not isinstance(indices, tuple) or len(indices) != 2:
            raise TaichiIndexError(f"expected two indices for a sparse matrix, got {indices}")
        row, column = (integer(index, "an index of a sparse matrix") for index in indices)
        if not (0 <= row < self.n and 0 <= column < self.m):
            raise TaichiIndexError(f"({row}, {column}) is outside {self.stored}")
        return row, column

    def build_from_ndarray(self, array: Ndarray) -> None:
        """Set the entries from an ndarray of floats: row, column and value, three by three.
        Duplicate entries are added up.

        Raises:
            TaichiRuntimeError: the argument is anything else.
            TaichiIndexError: an entry is outside the matrix.
        """
        if not isinstance(array, Ndarray) or int(np.prod(array.dims)) % 3:
            raise TaichiRuntimeError(
                "expected an ndarray with three numbers for each entry of a sparse matrix"
            )
        carries = is_recording() and array.grad is not None
        matrix_and_keys: list[tuple[StoredEntries, Indices]] = []

        def run() -> None:
            triplets = array.to_numpy().astype(np.float64).reshape(-1, 3)
            rows, columns = self._indices(triplets[:, 0], 0), self._indices(triplets[:, 1], 1)
            matrix = scipy_module("sparse").coo_matrix(
                (triplets[:, 2], (rows, columns)), self.shape
            )
            self.stored = StoredEntries(matrix.tocsc(), self.dtype, carries)
            if carries:
                matrix_and_keys[:] = [(self.stored, self.stored.pattern.keys_of(rows, columns))]

        def reverse() -> None:
            stored, keys = matrix_and_keys[0]
            adjoint = stored.take_adjoint()
            if adjoint is not None and array.grad is not None:
                amounts = array.grad.to_numpy()
                amounts.reshape(-1, 3)[:, 2] += adjoint[stored.pattern.positions(keys)]
                array.grad.from_numpy(amounts)

        step("SparseMatrix.build_from_ndarray", run, reverse) if carries else run()

    def _indices(self, values: Values, axis: int) -> Indices:
        wrong = (values < 0) | (values >= self.shape[axis]) | (values != np.rint(values))
        if wrong.any():
            noun = "column" if axis else "row"
            raise TaichiIndexError(f"{values[np.argmax(wrong)]} is not a {noun} of {self.stored}")
        return values.astype(np.int64)

    def mmwrite(self, filename: str | PathLike[str]) -> None:
        """Write a file in Matrix Market format. Raises OSError if it cannot be written."""
        with open(file_name(filename, "filename"), "wb") as file:
            scipy_module("io").mmwrite(file, self.stored.columns)

    def to_scipy(self) -> Any:
        """Return a copy as a SciPy csc_matrix."""
        return self.stored.columns.copy()

    def to_numpy(self) -> Values:
        """Return a dense copy."""
        array: Values = self.stored.columns.toarray()
        return array

    def __repr__(self) -> str:
        return "\n".join(f"[{', '.join(f'{v:g}' for v in row)}]" for row in self.to_numpy())
