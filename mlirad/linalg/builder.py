"""Builders of sparse matrices, which kernels fill."""

from __future__ import annotations

import numpy as np

from mlirad.checks import number
from mlirad.errors import TaichiIndexError, TaichiRuntimeError
from mlirad.frontend.python.places.triplets import COLUMNS, COUNT, ROWS, VALUES
from mlirad.lang.arguments.packs import ArgPack
from mlirad.lang.arguments.triplets import TRIPLETS
from mlirad.lang.host.host_slices import Section
from mlirad.lang.ndarray import Ndarray, ndarray
from mlirad.linalg.pattern import Indices, Values
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.sparse_matrix import LARGEST, SparseMatrix
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.linalg.vectors import check_dtype
from mlirad.types import TypeLike, f32, i32, i64, resolve


class SparseMatrixBuilder:
    """A collection of triplets (row, column, value) for a sparse matrix. Kernels that declare it as
    `A: ti.types.sparse_matrix_builder()` add triplets by `A[i, j] += v`, from several threads too.

    Args:
        num_rows: the number of rows.
        num_cols: the number of columns, by default that of rows.
        max_num_triplets: the maximum number of triplets.
        dtype: f32 or f64.
        storage_format: has no effect.
        needs_grad: on a tape, derivatives pass through the values. The loops of kernels that fill
            the builder then run serially.

    Raises:
        TaichiRuntimeError: a size is not positive.
        TaichiTypeError: the type is not f32 or f64.
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
                    f"expected {name} as a positive integer up to {LARGEST}, got {size}"
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
        """Print the size of the matrix, and all triplets in the order in which they were added.
        Raises TaichiRuntimeError if there are too many."""
        rows, columns, values = self._triplets()
        print(f"n={self.num_rows}, m={self.num_cols}, num_triplets={len(rows)}")
        for row, column, value in zip(rows, columns, values):
            print(f"({row}, {column}) val={value}")

    def build(self, dtype: TypeLike | None = None, _format: str = "CSR") -> SparseMatrix:
        """Return the matrix and empty the builder. Duplicate entries are added up in f64.

        Raises:
            TaichiRuntimeError: more triplets were added than the builder holds; the builder is then
                empty.
            TaichiIndexError: a triplet is outside the matrix; the builder is then empty.
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
                f"{count} triplets were added to a builder that holds {self.capacity} "
                "(max_num_triplets)"
            )
        if not count:
            empty = np.zeros(0, np.int32)
            return empty, empty, np.zeros(0, self.dtype.numpy)
        first = Section((range(count),), is_kept=(True,))
        arrays = self.rows, self.columns, self.values
        rows, columns, values = [array.copy_section(first) for array in arrays]
        return rows, columns, values

    def _check_indices(self, rows: Values, columns: Values) -> None:
        """Raise TaichiIndexError for a triplet outside of the matrix."""
        outside = (rows < 0) | (rows >= self.shape[0]) | (columns < 0) | (columns >= self.shape[1])
        if outside.any():
            first = int(np.argmax(outside))
            raise TaichiIndexError(
                f"a triplet was added at ({rows[first]}, {columns[first]}), outside a matrix of "
                f"shape {self.shape}"
            )
