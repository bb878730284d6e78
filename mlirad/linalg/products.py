"""Sparse matrices times vectors."""

from __future__ import annotations

from typing import Any

from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.linalg.vectors import (
    Numbers,
    add_to_gradient,
    gradient_of,
    numbers_of,
    take_gradient,
    write,
    written_to,
)


def times_vector(matrix: StoredEntries, vector: Any) -> Any:
    """An ndarray for an ndarray, else an array of NumPy's.

    Raises TaichiTypeError for what is no vector, TaichiRuntimeError for one of another length, and
    if a derivative would be lost.
    """
    rows, columns = matrix.shape
    carries = is_recording() and (matrix.carries or gradient_of(vector) is not None)
    out = written_to(vector, None, rows, matrix.dtype, carries)
    vectors: list[Numbers] = []

    def run() -> Any:
        numbers = numbers_of(vector, columns, matrix.dtype, "the vector")
        vectors[:] = [numbers]
        product = matrix.wide @ numbers
        if out is None:
            return product.astype(matrix.dtype.numpy)
        write(out, product)
        return out

    def reverse() -> None:
        adjoint = take_gradient(out)
        matrix.add_outer(adjoint, vectors[0])
        add_to_gradient(vector, matrix.wide.T @ adjoint)

    return step("SparseMatrix.matmul", run, reverse) if carries else run()
