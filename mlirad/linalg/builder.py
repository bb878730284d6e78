"""What kernels fill, to make a sparse matrix of it."""

from __future__ import annotations

import numpy as np

from mlirad.checks import number
from mlirad.errors import TaichiIndexError, TaichiRuntimeError
from mlirad.frontend.python.places.triplets import COLUMNS, COUNT, ROWS, VALUES
from mlirad.lang.arguments.packs import ArgPack
from mlirad.lang.arguments.triplets import TRIPLETS
from mlirad.lang.ndarray import Ndarray, ndarray
from mlirad.linalg.pattern import Indices, Values
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.sparse_matrix import LARGEST, SparseMatrix
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.linalg.vectors import check_dtype
from mlirad.types import TypeLike, f32, i32, i64, resolve


class SparseMatrixBuilder:
    """Takes triplets of row, column and value: kernels that declare it as
    `A: ti.types.sparse_matrix_builder()` do `A[i, j] += v`, also from many threads at once.

    With `needs_grad` derivatives pass through the values on a tape; the loops of kernels that fill
    it then run in order.

    Raises TaichiRuntimeError if sizes are not positive, TaichiTypeError for another type than
    f32 and f64.
    """

    def __init__(
        self,
        num_rows: int,
        num_cols: int | None = None,
        max_num_triplets: int = 0,
        dtype: TypeLike = f32,
        storage_format: str = "col_major",
        needs_grad: bool = False,
    ) -> None:
        columns = num_rows if num_cols is None else num_cols
        sizes = {"num_rows": num_rows, "num_cols": columns, "max_num_triplets": max_num_triplets}
        for name, size in sizes.items():
            if not 0 < number(size, name) <= LARGEST or size != int(size):
                raise TaichiRuntimeError(
                    f"{name} is a positive integer up to {LARGEST}, not {size}"
                )
        self.shape, self.capacity = (int(num_rows), int(columns)), int(max_num_triplets)
        self.num_rows, self.num_cols = self.shape
        self.dtype = check_dtype(resolve(dtype))
        self.triplet_count = ndarray(i64, 1)
        self.rows, self.columns = ndarray(i32, self.capacity), ndarray(i32, self.capacity)
        self.values: Ndarray = ndarray(self.dtype, self.capacity, needs_grad)
        arrays = (self.triplet_count, self.rows, self.columns, self.values)
        self.__argument_pack__ = ArgPack(
            TRIPLETS, dict(zip((COUNT, ROWS, COLUMNS, VALUES), arrays))
        )

    def print_triplets(self) -> None:
        """Print how large the matrix is, and all triplets, in the order in which they were added.

        Raises TaichiRuntimeError if there are too many."""
        rows, columns, values = self._triplets()
        print(f"n={self.num_rows}, m={self.num_cols}, num_triplets={len(rows)}")
        for row, column, value in zip(rows, columns, values):
            print(f"({row}, {column}) val={value}")

    def build(self, dtype: TypeLike | None = None, _format: str = "CSR") -> SparseMatrix:
        """The matrix of the triplets, equal entries added up in f64; the builder is empty then.

        Raises TaichiRuntimeError if more were added than it takes, TaichiIndexError for one
        outside of the matrix; the builder is empty then, too.
        """
        carries = self.values.grad is not None and is_recording()
        matrix_and_keys: list[tuple[StoredEntries, Indices]] = []

        def run() -> SparseMatrix:
            try:
                rows, columns, values = self._triplets()
                self._check_indices(rows, columns)
            finally:
                self.triplet_count.fill(0)
            matrix = scipy_module("sparse").coo_matrix(
                (values.astype(np.float64), (rows, columns)), self.shape
            )
            stored = StoredEntries(matrix.tocsc(), self.dtype, carries)
            if carries:
                matrix_and_keys[:] = [(stored, stored.pattern.keys_of(rows, columns))]
            return SparseMatrix.holding(stored)

        def reverse() -> None:
            stored, keys = matrix_and_keys[0]
            adjoint, grad = stored.take_adjoint(), self.values.grad
            if adjoint is not None and grad is not None:
                amounts = grad.to_numpy()
                amounts[: len(keys)] += adjoint[stored.pattern.positions(keys)]
                grad.from_numpy(amounts)

        return step("SparseMatrixBuilder.build", run, reverse) if carries else run()

    def _triplets(self) -> tuple[Values, Values, Values]:
        """Rows, columns and values. Raises TaichiRuntimeError if there are too many."""
        count = int(self.triplet_count[0])
        if count > self.capacity:
            raise TaichiRuntimeError(
                f"{count} triplets were added to a builder that takes {self.capacity} "
                "(max_num_triplets)"
            )
        if not count:
            empty = np.zeros(0, np.int32)
            return empty, empty, np.zeros(0, self.dtype.numpy)
        return self.rows[0:count], self.columns[0:count], self.values[0:count]

    def _check_indices(self, rows: Values, columns: Values) -> None:
        """Raise TaichiIndexError for a triplet outside of the matrix."""
        outside = (rows < 0) | (rows >= self.shape[0]) | (columns < 0) | (columns >= self.shape[1])
        if outside.any():
            first = int(np.argmax(outside))
            raise TaichiIndexError(
                f"a triplet was added at ({rows[first]}, {columns[first]}), outside of a matrix of "
                f"shape {self.shape}"
            )
