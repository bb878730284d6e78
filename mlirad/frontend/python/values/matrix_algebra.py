"""The algebra of vectors and matrices: products, norms, determinants and inverses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from mlirad.errors import TaichiCompilationError, TaichiTypeError
from mlirad.frontend.python.building.builder import in_kernel
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values.matrix_operators import Elementwise, Operand, Rows
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.types import TypeLike


class Algebra(Elementwise):
    """Operations on a matrix as a whole."""

    n: int
    m: int

    @classmethod
    def of_shape(cls, shape: Sequence[int], entries: Sequence[Scalar]) -> Any:
        """A matrix of a shape from entries in row-major order."""
        raise NotImplementedError

    def rows_list(self) -> list[Any]:
        """Entries as a list, or as a list of rows."""
        raise NotImplementedError

    def __matmul__(self, other: Algebra | Rows) -> Any:
        other = other if isinstance(other, Algebra) else self.made_from(other)
        if self.ndim == 1 and other.ndim == 1:
            return self.dot(other)
        if self.ndim == 1:
            return self.of_shape((1, self.n), self.entries).__matmul__(other).flattened()
        if self.m != other.n:
            raise TaichiCompilationError(f"cannot multiply shapes {self.shape} and {other.shape}")
        entries = [
            _sum(
                [
                    self.entries[i * self.m + k] * other.entries[k * other.m + j]
                    for k in range(self.m)
                ]
            )
            for i in range(self.n)
            for j in range(other.m)
        ]
        return self.of_shape((self.n,) if other.ndim == 1 else (self.n, other.m), entries)

    def cast(self, dtype: TypeLike) -> Any:
        """Every entry in another type."""
        return self.like([fn.cast(entry, dtype) for entry in self.entries])

    def transpose(self) -> Any:
        """The transpose."""
        if self.ndim == 1:
            raise TaichiCompilationError(
                "`transpose()` cannot apply to a vector. If you want something like `a @ "
                "b.transpose()`, write `a.outer_product(b)` instead."
            )
        rows, columns = self.n, self.m
        entries = [self.entries[i * columns + j] for j in range(columns) for i in range(rows)]
        return self.of_shape((columns, rows), entries)

    def sum(self) -> Any:
        """The sum of the entries."""
        return _sum(self.entries)

    def max(self) -> Any:
        """The largest entry."""
        return fn.max(self)

    def min(self) -> Any:
        """The smallest entry."""
        return fn.min(self)

    def fill(self, value: Scalar) -> None:
        """Set every entry. Raises TaichiTypeError if the matrix is not a variable in a kernel."""
        if in_kernel():
            raise TaichiTypeError("a vector or matrix that is not a variable cannot be filled")
        self.entries = [value] * len(self.entries)

    def trace(self) -> Any:
        """The sum of the diagonal."""
        self._square(self.n)
        return _sum([self.entries[i * self.m + i] for i in range(self.n)])

    def dot(self, other: Operand) -> Any:
        """The inner product of two vectors."""
        return (self * other).sum()

    def cross(self, other: Algebra) -> Any:
        """The cross product of two 3-vectors, or, for 2-vectors, its signed length."""
        a, b = self.entries, other.entries
        if len(a) == 2 and len(b) == 2:
            return a[0] * b[1] - a[1] * b[0]
        if len(a) != 3 or len(b) != 3:
            raise TaichiCompilationError("a cross product needs two vectors of 2 or 3 entries")
        return self.like(
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        )

    def outer_product(self, other: Algebra) -> Any:
        """The matrix of products of entries."""
        return self.of_shape(
            (self.n, other.n), [a * b for a in self.entries for b in other.entries]
        )

    def norm_sqr(self) -> Any:
        """The sum of the squared entries."""
        return _sum([e * e for e in self.entries])

    def norm(self, eps: Scalar = 0) -> Any:
        """The Frobenius norm, `sqrt(norm_sqr + eps)`; with `eps` 0 its derivative at the origin is
        0, never NaN."""
        square = self.norm_sqr()
        if not isinstance(eps, int | float) or eps:
            return fn.sqrt(square + eps)
        if not isinstance(square, Expr):
            return fn.sqrt(square)
        square = square if square.dtype.is_float else fn.cast(square, float)
        positive, unit, zero = square > 0, fn.one(square), fn.zero(square)
        return fn.select(positive, fn.sqrt(fn.select(positive, square, unit)), zero)

    def norm_inv(self, eps: Scalar = 0) -> Any:
        """`1 / norm`."""
        return fn.rsqrt(self.norm_sqr() + eps)

    def normalized(self, eps: Scalar = 0) -> Any:
        """The vector over its norm."""
        return self / (self.norm() + eps)

    def determinant(self) -> Any:
        """The determinant, for sizes up to 4."""
        self._square(4)
        return _determinant(self.rows_list())

    def inverse(self) -> Any:
        """The inverse, by cofactors, for sizes up to 4."""
        self._square(4)
        n, rows = self.n, self.rows_list()
        if n == 1:
            return self.like([1 / self.entries[0]])
        scale = 1 / _determinant(rows)
        entries = []
        for i in range(n):
            for j in range(n):
                minor = [[rows[r][c] for c in range(n) if c != i] for r in range(n) if r != j]
                entries.append(_determinant(minor) * scale * (1 if (i + j) % 2 == 0 else -1))
        return self.like(entries)

    def _square(self, limit: int) -> None:
        if self.n != self.m:
            raise TaichiCompilationError(f"expected a square matrix, got shape {self.shape}")
        if self.n > limit:
            raise TaichiCompilationError(
                f"only supported for sizes up to {limit}, not for shape {self.shape}: write "
                "the elimination in loops over a field, or use np.linalg in Python"
            )


def _sum(items: Sequence[Scalar]) -> Any:
    return reduce(lambda a, b: a + b, items)


def _determinant(rows: Sequence[Sequence[Scalar]]) -> Any:
    n = len(rows)
    if n == 1:
        return rows[0][0]
    if n == 2:
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    terms = []
    for j in range(n):
        minor = [[row[c] for c in range(n) if c != j] for row in rows[1:]]
        term = rows[0][j] * _determinant(minor)
        terms.append(term if j % 2 == 0 else -term)
    return _sum(terms)
