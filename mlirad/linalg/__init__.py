"""`ti.linalg`: sparse matrices and systems of linear equations, by SciPy."""

from mlirad.linalg.builder import SparseMatrixBuilder
from mlirad.linalg.matrix_free import LinearOperator, MatrixFreeBICGSTAB, MatrixFreeCG
from mlirad.linalg.sparse_cg import SparseCG
from mlirad.linalg.sparse_matrix import SparseMatrix
from mlirad.linalg.sparse_solver import SparseSolver

__all__ = [
    "LinearOperator",
    "MatrixFreeBICGSTAB",
    "MatrixFreeCG",
    "SparseCG",
    "SparseMatrix",
    "SparseMatrixBuilder",
    "SparseSolver",
]


def __dir__() -> list[str]:
    return __all__
