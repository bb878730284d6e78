"""Systems of linear equations with sparse matrices, solved by factorization."""

from __future__ import annotations

from typing import Any

from mlirad.checks import text
from mlirad.errors import TaichiRuntimeError
from mlirad.linalg.factorization import Factorization
from mlirad.linalg.sparse_matrix import SparseMatrix
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.linalg.vectors import (
    Numbers,
    add_to_gradient,
    check_dtype,
    gradient_of,
    numbers_of,
    take_gradient,
    write,
    written_to,
)
from mlirad.types import TypeLike, f32, resolve

_KINDS, _ORDERINGS = ("LLT", "LDLT", "LU"), ("AMD", "COLAMD")


class SparseSolver:
    """A direct solver for A x = b. It computes in f64 by SuperLU, also for matrices of f32.

    On a tape, derivatives pass through `solve` by the adjoint method.

    Args:
        dtype: f32 or f64.
        solver_type: "LLT" for a symmetric positive definite matrix, "LDLT" for a symmetric one,
            "LU" for any square one.
        ordering: "AMD" or another ordering of Taichi.

    Raises:
        TaichiRuntimeError: the solver type or the ordering is unknown.
        TaichiTypeError: the type is not f32 or f64.
    """

    def __init__(
        self, dtype: TypeLike = f32, solver_type: str = "LLT", ordering: str = "AMD"
    ) -> None:
        kind, order = text(solver_type, "solver_type"), text(ordering, "ordering")
        if kind not in _KINDS or order not in _ORDERINGS:
            raise TaichiRuntimeError(
                f"there is no solver {solver_type} with {ordering}: expected one of {_KINDS}, and "
                f"one of {_ORDERINGS}"
            )
        self.dtype = check_dtype(resolve(dtype))
        self.kind, self.ordering = solver_type, ordering
        self._matrix: StoredEntries | None = None
        self._factors: Factorization | None = None

    def analyze_pattern(self, sparse_matrix: SparseMatrix) -> None:
        """Set the matrix; `factorize` orders its columns. Raises the errors of `factorize`."""
        self._matrix = self._checked(sparse_matrix)

    def factorize(self, sparse_matrix: SparseMatrix) -> None:
        """Factorize a matrix; `info` returns whether that succeeded. Raises TaichiRuntimeError
        unless it is a square sparse matrix of the type of the solver."""
        self._matrix = self._checked(sparse_matrix)
        self._factors = Factorization(self._matrix, self.kind, self.ordering)

    def compute(self, sparse_matrix: SparseMatrix) -> None:
        """Call `analyze_pattern` and `factorize`. Raises the errors of `factorize`."""
        self.factorize(sparse_matrix)

    def info(self) -> bool:
        """Return whether the matrix was factorized. Raises TaichiRuntimeError if no matrix was
        given."""
        return self._ready()[1].problem is None

    def solve(self, b: Any, x: Any = None) -> Any:
        """Return the solution.

        Args:
            b: the right-hand side.
            x: a field or an ndarray for the solution. Without it, the solution is a new ndarray if
                `b` is one, otherwise a NumPy array.

        Raises:
            TaichiRuntimeError: the matrix was not factorized or cannot be, a length is wrong, or on
                a tape a derivative would be lost.
            TaichiTypeError: an argument has the wrong type.
        """
        matrix, factors = self._ready()
        carries = is_recording() and (matrix.carries or gradient_of(b) is not None)
        length = matrix.shape[0]
        solutions: list[Numbers] = []

        def run() -> Any:
            numbers = numbers_of(b, length, matrix.dtype, "b")
            solution = factors.solve(numbers)
            solutions[:] = [solution]
            if out is None:
                return solution.astype(matrix.dtype.numpy)
            write(out, solution)
            return out

        def reverse() -> None:
            adjoint = factors.solve(take_gradient(out), transposed=True)
            matrix.add_outer(-adjoint, solutions[0])
            add_to_gradient(b, adjoint)

        out = written_to(b, x, length, matrix.dtype, carries)
        return step("SparseSolver.solve", run, reverse) if carries else run()

    def _checked(self, matrix: object) -> StoredEntries:
        if not isinstance(matrix, SparseMatrix):
            raise TaichiRuntimeError(
                f"expected a ti.linalg.SparseMatrix, got {type(matrix).__name__}"
            )
        if matrix.dtype != self.dtype:
            raise TaichiRuntimeError(
                f"the solver has type {self.dtype}, but the matrix has type {matrix.dtype}"
            )
        if matrix.n != matrix.m:
            raise TaichiRuntimeError(f"{matrix.stored} is not square")
        return matrix.stored

    def _ready(self) -> tuple[StoredEntries, Factorization]:
        if self._matrix is None or self._factors is None:
            raise TaichiRuntimeError("no matrix was factorized: call compute(A) first")
        return self._matrix, self._factors
