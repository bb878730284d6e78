"""Factorizations of square sparse matrices, by SuperLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeError
from mlirad.linalg.pattern import Values
from mlirad.linalg.scipy_modules import scipy_module
from mlirad.linalg.stored_entries import StoredEntries
from mlirad.linalg.vectors import Numbers

# how far entries of a symmetric matrix may differ, of its greatest: sums in other orders
_SYMMETRIC = {32: 1e-4, 64: 1e-10}
_CANCELLED = 8.0  # roundings: a pivot that is less than these of its terms is none


class Factorization:
    """A factorization in f64. `problem` says what is wrong with the matrix, None if it is
    solvable."""

    def __init__(self, matrix: StoredEntries, kind: str, ordering: str) -> None:
        self.problem: str | None = None
        is_definite = kind == "LLT"
        options: dict[str, Any] = {"permc_spec": "COLAMD"}
        if kind != "LU" and not is_symmetric(matrix):
            self.problem = f"it is not symmetric, which {kind} requires: use LU for any matrix"
            return
        if kind != "LU" and ordering == "AMD":
            options["permc_spec"] = "MMD_AT_PLUS_A"
        if is_definite:
            options |= {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        try:
            self._factors = scipy_module("sparse.linalg").splu(matrix.wide, **options)
        except RuntimeError as error:
            if "singular" not in str(error):
                raise
            self.problem = "it is singular"
            return
        self.problem = _problem_of(self._factors, is_definite)

    def solve(self, numbers: Numbers, transposed: bool = False) -> Numbers:
        """The solution for a right-hand side, of the transposed matrix where that is asked for.

        Raises TaichiRuntimeError if the matrix has none, or it has no finite numbers."""
        if self.problem is not None:
            raise TaichiRuntimeError(f"the matrix cannot be solved: {self.problem}")
        solution: Numbers = self._factors.solve(numbers, "T" if transposed else "N")
        if not np.isfinite(solution).all():
            raise TaichiRuntimeError("the solution is not finite")
        return solution


def is_symmetric(matrix: StoredEntries) -> bool:
    """Return whether a matrix is symmetric, up to rounding."""
    difference = abs(matrix.wide - matrix.wide.T)
    allowed = _SYMMETRIC[matrix.dtype.bits] * np.abs(matrix.values).max(initial=0.0)
    return bool(difference.nnz == 0 or difference.max() <= allowed)


def _problem_of(factors: Any, is_definite: bool) -> str | None:
    """Return the problem of a matrix that its factors show. A pivot that is rounding beside the
    terms that it is the sum of says that it is singular."""
    lower, upper = factors.L, factors.U
    pivots: Values = upper.diagonal()
    if not np.isfinite(pivots).all():
        return "it has entries that are not finite"
    terms = np.asarray(abs(lower).multiply(abs(upper).T).sum(axis=1)).ravel()
    if (np.abs(pivots) <= _CANCELLED * np.finfo(np.float64).eps * terms).any():
        return "it is singular"
    if is_definite and not ((pivots > 0).all() and np.array_equal(factors.perm_r, factors.perm_c)):
        return "it is not positive definite: use LDLT or LU"
    return None
