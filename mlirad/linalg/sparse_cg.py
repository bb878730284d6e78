"""Systems of linear equations with sparse matrices, solved by conjugate gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.checks import number, whole
from mlirad.errors import TaichiRuntimeError, TaichiTypeError
from mlirad.linalg.factorization import is_symmetric
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.sparse_matrix import SparseMatrix
from mlirad.linalg.steps import is_recording, step
from mlirad.linalg.vectors import (
    Numbers,
    add_to_gradient,
    gradient_of,
    numbers_of,
    take_gradient,
    write,
    written_to,
)


class SparseCG:
    """A solver for A x = b by the method of conjugate gradients.

    Args:
        A: a symmetric, positive definite sparse matrix.
        b: the right-hand side.
        x0: the start vector.
        max_iter: the maximum number of iterations.
        atol: the iteration stops when the norm of the residual is below it.

    Raises:
        TaichiTypeError: A is not a sparse matrix.
        TaichiRuntimeError: A is not square and symmetric.
    """

    def __init__(
        self, A: SparseMatrix, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6
    ) -> None:
        if not isinstance(A, SparseMatrix):
            raise TaichiTypeError(f"expected A as a ti.linalg.SparseMatrix, got {type(A).__name__}")
        if A.n != A.m or not is_symmetric(A.stored):
            raise TaichiRuntimeError(f"conjugate gradients need a symmetric matrix, got {A.stored}")
        self.matrix, self.b, self.x0 = A.stored, b, x0
        self.max_iter = whole(max_iter, "max_iter", low=0)
        self.atol = number(atol, "atol", low=0)

    def solve(self, x: Any = None) -> tuple[Any, bool]:
        """Return the solution, and whether the residual is below `atol`.

        Derivatives are those of the exact solution, also computed by conjugate gradients.

        Args:
            x: a field or an ndarray for the solution. Without it, the solution is a NumPy array, or
                on a tape an ndarray if `b` is one.

        Raises:
            TaichiRuntimeError: a length is wrong, a derivative would be lost, or in the reverse the
                iteration does not converge within `max_iter`.
            TaichiTypeError: an argument has the wrong type.
        """
        matrix, b, length = self.matrix, self.b, self.matrix.shape[0]
        carries = is_recording() and (matrix.carries or gradient_of(b) is not None)
        solution_and_norm: list[tuple[Numbers, float]] = []

        def run() -> tuple[Any, bool]:
            numbers = numbers_of(b, length, matrix.dtype, "b")
            start = None if self.x0 is None else numbers_of(self.x0, length, matrix.dtype, "x0")
            solution, is_done = self._iterate(numbers, start, self.atol)
            solution_and_norm[:] = [(solution, float(np.linalg.norm(numbers)))]
            if out is None:
                return solution.astype(matrix.dtype.numpy), is_done
            write(out, solution)
            return out, is_done

        def reverse() -> None:
            solution, size = solution_and_norm[0]
            head = take_gradient(out)
            allowed = self.atol * float(np.linalg.norm(head)) / (size or 1.0)
            adjoint, is_done = self._iterate(head, None, allowed)
            if not is_done:
                raise TaichiRuntimeError(
                    f"the derivative of SparseCG.solve: {self.max_iter} iterations do not reach a "
                    f"residual of {allowed:g}"
                )
            matrix.add_outer(-adjoint, solution)
            add_to_gradient(b, adjoint)

        out = written_to(b if carries else None, x, length, matrix.dtype, carries)
        return step("SparseCG.solve", run, reverse) if carries else run()

    def _iterate(self, b: Numbers, start: Numbers | None, atol: float) -> tuple[Numbers, bool]:
        """The solution, and whether the residual's norm is at most `atol`."""
        solution, _ = scipy_module("sparse.linalg").cg(
            self.matrix.wide, b, start, rtol=0.0, atol=atol, maxiter=self.max_iter
        )
        residual = float(np.linalg.norm(b - self.matrix.wide @ solution))
        return solution, residual <= atol * (1 + 1e-6) or residual == 0.0
