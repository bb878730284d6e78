"""Vectors and matrices: entries in row-major order, generic over Python numbers and kernel scalars."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mlirad.errors import TaichiCompilationError, TaichiIndexError, TaichiTypeError
from mlirad.frontend import expression as ex
from mlirad.frontend import functions as fn
from mlirad.frontend.builder import current, in_kernel
from mlirad.frontend.expression import Expr
from mlirad.types import resolve

SWIZZLES = ("xyzw", "rgba", "stpq")


def swizzle(name: str) -> list[int] | None:
    """The positions that a name like `xzy` or `rg` selects, or None."""
    for letters in SWIZZLES:
        if 0 < len(name) <= 4 and all(c in letters for c in name):
            return [letters.index(c) for c in name]
    return None


class Matrix:
    """An n×m matrix, or a vector of n entries (`ndim` 1). Operators act elementwise, `@` multiplies."""

    __array_priority__ = 2000
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, rows: Any, dt: Any = None) -> None:
        rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
        if isinstance(rows, Matrix):
            rows = rows.rows_list()
        if not isinstance(rows, list | tuple):
            raise TaichiTypeError(f"a matrix is made from a list, not from {type(rows).__name__}")
        rows = [row.rows_list() if isinstance(row, Matrix) else row for row in rows]
        if rows and isinstance(rows[0], list | tuple):
            widths = {len(row) if isinstance(row, list | tuple) else -1 for row in rows}
            if len(widths) != 1 or -1 in widths:
                raise TaichiCompilationError("the rows of a matrix have different lengths")
            self._set(len(rows), len(rows[0]), 2, [entry for row in rows for entry in row])
        else:
            self._set(len(rows), 1, 1, list(rows))
        if dt is not None:
            self.entries = [fn.cast(entry, dt) for entry in self.entries]
        elif in_kernel():
            self.entries = _unified(self.entries)

    def _set(self, n: int, m: int, ndim: int, entries: list[Any]) -> None:
        self.n, self.m, self.ndim = n, m, ndim
        self.entries = entries

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,) if self.ndim == 1 else (self.n, self.m)

    def like(self, entries: list[Any]) -> Matrix:
        """A matrix of this shape with other entries."""
        return self.of_shape(self.shape, entries)

    @classmethod
    def of_shape(cls, shape: Sequence[int], entries: list[Any]) -> Matrix:
        """A matrix of a shape from entries in row-major order."""
        result = cls.__new__(cls)
        result._set(shape[0], shape[1] if len(shape) > 1 else 1, len(shape), entries)
        return result

    def rows_list(self) -> list[Any]:
        """Entries as a list, or as a list of rows."""
        if self.ndim == 1:
            return list(self.entries)
        return [self.entries[i * self.m:(i + 1) * self.m] for i in range(self.n)]

    to_list = rows_list

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The entries as a NumPy array of the matrix' shape."""
        return np.array(self.rows_list())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.array(self.rows_list(), dtype=dtype)

    def map_with(self, function: Callable[..., Any], *arguments: Any) -> Matrix:
        """Apply a scalar function to matching entries; scalars are repeated."""
        shape = self.shape
        lists = []
        for argument in arguments:
            if isinstance(argument, list | tuple):
                argument = Matrix(argument)
            if not isinstance(argument, Matrix):
                lists.append([argument] * len(self.entries))
            elif argument.shape == shape or len(argument.entries) == len(self.entries) and argument.ndim != self.ndim:
                lists.append(argument.entries)
            else:
                raise TaichiCompilationError(f"shapes {shape} and {argument.shape} do not match")
        return self.like([function(*group) for group in zip(*lists)])

    def _with(self, function: Callable[[Any, Any], Any], other: Any, swapped: bool = False) -> Any:
        if not (ex.is_scalar(other) or isinstance(other, Matrix | list | tuple | np.ndarray)):
            return NotImplemented
        if isinstance(other, np.ndarray):
            other = Matrix(other)
        return self.map_with(function, other, self) if swapped else self.map_with(function, self, other)

    def __add__(self, other: Any) -> Any: return self._with(lambda a, b: a + b, other)
    def __radd__(self, other: Any) -> Any: return self._with(lambda a, b: a + b, other, True)
    def __sub__(self, other: Any) -> Any: return self._with(lambda a, b: a - b, other)
    def __rsub__(self, other: Any) -> Any: return self._with(lambda a, b: a - b, other, True)
    def __mul__(self, other: Any) -> Any: return self._with(lambda a, b: a * b, other)
    def __rmul__(self, other: Any) -> Any: return self._with(lambda a, b: a * b, other, True)
    def __truediv__(self, other: Any) -> Any: return self._with(lambda a, b: a / b, other)
    def __rtruediv__(self, other: Any) -> Any: return self._with(lambda a, b: a / b, other, True)
    def __floordiv__(self, other: Any) -> Any: return self._with(lambda a, b: a // b, other)
    def __rfloordiv__(self, other: Any) -> Any: return self._with(lambda a, b: a // b, other, True)
    def __mod__(self, other: Any) -> Any: return self._with(lambda a, b: a % b, other)
    def __rmod__(self, other: Any) -> Any: return self._with(lambda a, b: a % b, other, True)
    def __pow__(self, other: Any) -> Any: return self._with(lambda a, b: a ** b, other)
    def __rpow__(self, other: Any) -> Any: return self._with(lambda a, b: a ** b, other, True)
    def __and__(self, other: Any) -> Any: return self._with(lambda a, b: a & b, other)
    def __rand__(self, other: Any) -> Any: return self._with(lambda a, b: a & b, other, True)
    def __or__(self, other: Any) -> Any: return self._with(lambda a, b: a | b, other)
    def __ror__(self, other: Any) -> Any: return self._with(lambda a, b: a | b, other, True)
    def __xor__(self, other: Any) -> Any: return self._with(lambda a, b: a ^ b, other)
    def __lshift__(self, other: Any) -> Any: return self._with(lambda a, b: a << b, other)
    def __rshift__(self, other: Any) -> Any: return self._with(lambda a, b: a >> b, other)
    def __eq__(self, other: Any) -> Any: return self._with(lambda a, b: a == b, other)
    def __ne__(self, other: Any) -> Any: return self._with(lambda a, b: a != b, other)
    def __lt__(self, other: Any) -> Any: return self._with(lambda a, b: a < b, other)
    def __le__(self, other: Any) -> Any: return self._with(lambda a, b: a <= b, other)
    def __gt__(self, other: Any) -> Any: return self._with(lambda a, b: a > b, other)
    def __ge__(self, other: Any) -> Any: return self._with(lambda a, b: a >= b, other)
    def __neg__(self) -> Matrix: return self.like([-e for e in self.entries])
    def __pos__(self) -> Matrix: return self
    def __invert__(self) -> Matrix: return self.like([~e for e in self.entries])
    def __abs__(self) -> Matrix: return self.like([fn.abs(e) for e in self.entries])

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries if self.ndim == 1 else [self.row(i) for i in range(self.n)])

    def __repr__(self) -> str:
        return f"{self.rows_list()}"

    def __matmul__(self, other: Any) -> Any:
        other = other if isinstance(other, Matrix) else Matrix(other)
        if self.ndim == 1 and other.ndim == 1:
            return self.dot(other)
        if self.ndim == 1:
            return Matrix.of_shape((1, self.n), self.entries).__matmul__(other).flattened()
        if self.m != other.n:
            raise TaichiCompilationError(f"cannot multiply shapes {self.shape} and {other.shape}")
        entries = [_sum([self.entries[i * self.m + k] * other.entries[k * other.m + j] for k in range(self.m)])
                   for i in range(self.n) for j in range(other.m)]
        return self.of_shape((self.n,) if other.ndim == 1 else (self.n, other.m), entries)

    def flattened(self) -> Matrix:
        """The entries as a vector."""
        return self.of_shape((len(self.entries),), list(self.entries))

    # Entries.

    def flat_index(self, indices: tuple[Any, ...]) -> Any:
        """Position in `entries`; an Expr where an index is known only at run time."""
        if len(indices) != self.ndim and not (self.ndim == 1 and len(indices) == 2 and indices[1] == 0):
            raise TaichiIndexError(f"{len(indices)} indices into a matrix of shape {self.shape}")
        position: Any = 0
        for extent, index in zip(self.shape, indices):
            index = fn.python_value(index)
            if isinstance(index, float) or (isinstance(index, Expr) and index.dtype.is_float):
                raise TaichiTypeError("an index must be an integer")
            if isinstance(index, int):
                if not -extent <= index < extent:
                    raise TaichiIndexError(f"index {index} out of range for a matrix of shape {self.shape}")
                index %= extent
            position = position * extent + index
        return position

    def __getitem__(self, key: Any) -> Any:
        indices = key if isinstance(key, tuple) else (key,)
        if any(isinstance(i, slice) for i in indices):
            return self._sliced(indices)
        if self.ndim == 2 and len(indices) == 1:
            return self.row(indices[0])
        position = self.flat_index(indices)
        if isinstance(position, int):
            return self.entries[position]
        value = self.entries[0]
        for k in range(1, len(self.entries)):
            value = ex.select(position == k, self.entries[k], value)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        indices = key if isinstance(key, tuple) else (key,)
        position = self.flat_index(indices)
        if not isinstance(position, int):
            raise TaichiTypeError("an entry of a constant matrix cannot be set at a position known only at run time")
        self.entries[position] = value

    def _sliced(self, indices: tuple[Any, ...]) -> Matrix:
        chosen = [list(range(extent))[i] if isinstance(i, slice) else [i] for i, extent in zip(indices, self.shape)]
        entries = [self[index if self.ndim == 2 else index[0]] for index in itertools.product(*chosen)]
        shape = [len(c) for c, i in zip(chosen, indices) if isinstance(i, slice)]
        return self.of_shape(shape, entries)

    def row(self, i: Any) -> Matrix:
        """Row `i` as a vector."""
        return self.of_shape((self.m,), [self[i, j] for j in range(self.m)])

    def __getattr__(self, name: str) -> Any:
        positions = swizzle(name)
        if positions is None or "entries" not in self.__dict__ or self.ndim != 1 or max(positions) >= self.n:
            raise AttributeError(f"a matrix of shape {self.__dict__.get('shape', ())} has no attribute '{name}'")
        picked = [self.entries[p] for p in positions]
        return picked[0] if len(picked) == 1 else self.of_shape((len(picked),), picked)

    def __setattr__(self, name: str, value: Any) -> None:
        positions = swizzle(name) if name not in ("n", "m") else None
        if positions is None:
            object.__setattr__(self, name, value)
            return
        values = [value] if len(positions) == 1 else list(value)
        for position, item in zip(positions, values):
            self.entries[position] = item

    # Algebra.

    def cast(self, dtype: Any) -> Matrix:
        """Every entry in another type."""
        return self.like([fn.cast(entry, dtype) for entry in self.entries])

    def transpose(self) -> Matrix:
        """The transpose; a vector becomes a row."""
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

    def any(self) -> Any:
        """Whether some entry is not zero."""
        flags = [e != 0 for e in self.entries]
        return _fold(lambda a, b: a | b, flags)

    def all(self) -> Any:
        """Whether no entry is zero."""
        flags = [e != 0 for e in self.entries]
        return _fold(lambda a, b: a & b, flags)

    def fill(self, value: Any) -> None:
        """Set every entry."""
        self.entries = [value] * len(self.entries)

    def trace(self) -> Any:
        """The sum of the diagonal."""
        return _sum([self.entries[i * self.m + i] for i in range(self.n)])

    def dot(self, other: Any) -> Any:
        """The inner product of two vectors."""
        return (self * other).sum()

    def cross(self, other: Matrix) -> Any:
        """The cross product of two 3-vectors, or its length with sign for 2-vectors."""
        a, b = self.entries, other.entries
        if len(a) == 2 and len(b) == 2:
            return a[0] * b[1] - a[1] * b[0]
        if len(a) != 3 or len(b) != 3:
            raise TaichiCompilationError("a cross product needs two vectors of 2 or 3 entries")
        return self.like([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    def outer_product(self, other: Matrix) -> Matrix:
        """The matrix of products of entries."""
        return self.of_shape((self.n, other.n), [a * b for a in self.entries for b in other.entries])

    def norm_sqr(self) -> Any:
        """The sum of the squared entries."""
        return _sum([e * e for e in self.entries])

    def norm(self, eps: Any = 0) -> Any:
        """The Frobenius norm, `sqrt(norm_sqr + eps)`; with `eps` 0 its derivative at the origin is 0, never NaN."""
        square = self.norm_sqr()
        if not isinstance(eps, int | float) or eps:
            return fn.sqrt(square + eps)
        if not isinstance(square, Expr):
            return fn.sqrt(square)
        square = square if square.dtype.is_float else fn.cast(square, float)
        positive = square > 0
        return fn.select(positive, fn.sqrt(fn.select(positive, square, 1.0)), 0.0)

    def norm_inv(self, eps: Any = 0) -> Any:
        """`1 / norm`."""
        return fn.rsqrt(self.norm_sqr() + eps)

    def normalized(self, eps: Any = 0) -> Matrix:
        """The vector over its norm."""
        return self / (self.norm() + eps)

    def determinant(self) -> Any:
        """The determinant, for sizes up to 4."""
        self._square(4)
        return _determinant(self.rows_list())

    def inverse(self) -> Matrix:
        """The inverse, by cofactors, for sizes up to 4."""
        self._square(4)
        n, rows = self.n, self.rows_list()
        if n == 1:
            return self.like([1.0 / self.entries[0]])
        scale = 1.0 / _determinant(rows)
        entries = []
        for i in range(n):
            for j in range(n):
                minor = [[rows[r][c] for c in range(n) if c != i] for r in range(n) if r != j]
                entries.append(_determinant(minor) * scale * (1 if (i + j) % 2 == 0 else -1))
        return self.like(entries)

    def _square(self, limit: int) -> None:
        if self.n != self.m or self.n > limit:
            raise TaichiCompilationError(f"needs a square matrix of at most {limit} rows, not shape {self.shape}")

    # Constructors.

    @classmethod
    def filled(cls, value: Any, dt: Any, n: int, m: int | None) -> Matrix:
        """A matrix (or, without `m`, a vector) of one value."""
        shape = (n,) if m is None else (n, m)
        return cls.of_shape(shape, [_typed(value, dt) for _ in range(n * (m or 1))])

    @classmethod
    def zero(cls, dt: Any, n: int, m: int | None = None) -> Matrix:
        """All zeros."""
        return cls.filled(0, dt, n, m)

    @classmethod
    def one(cls, dt: Any, n: int, m: int | None = None) -> Matrix:
        """All ones."""
        return cls.filled(1, dt, n, m)

    @classmethod
    def unit(cls, n: int, i: int, dt: Any = int) -> Matrix:
        """The `i`-th unit vector."""
        return cls.of_shape((n,), [_typed(1 if k == i else 0, dt) for k in range(n)])

    @classmethod
    def identity(cls, dt: Any, n: int) -> Matrix:
        """The identity."""
        return cls.of_shape((n, n), [_typed(1 if i == j else 0, dt) for i in range(n) for j in range(n)])

    @classmethod
    def diag(cls, dim: int, val: Any) -> Matrix:
        """`val` on the diagonal."""
        zero = val * 0 if isinstance(val, Expr) else type(val)(0)
        return cls.of_shape((dim, dim), [val if i == j else zero for i in range(dim) for j in range(dim)])

    @classmethod
    def rows(cls, rows: Sequence[Any]) -> Matrix:
        """A matrix from its rows."""
        return cls([list(row) for row in rows])

    @classmethod
    def cols(cls, columns: Sequence[Any]) -> Matrix:
        """A matrix from its columns."""
        return cls.rows(columns).transpose()


def _typed(value: Any, dt: Any) -> Any:
    if in_kernel():
        return ex.cast(value, resolve(dt, current().default_fp, current().default_ip))
    return float(value) if resolve(dt).is_float else int(value)


def _unified(entries: list[Any]) -> list[Any]:
    """Entries of one type: a float among integers makes all of them floats."""
    entries = [fn.python_value(entry) for entry in entries]
    if not entries or not all(ex.is_scalar(entry) for entry in entries):
        raise TaichiTypeError("the entries of a matrix must be scalars")
    types = {ex.dtype_of(entry) for entry in entries}
    if len(types) == 1:
        return entries
    dtype = _fold(ex.promote, list(types))
    return [ex.cast(entry, dtype) for entry in entries]


def _fold(function: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    result = items[0]
    for item in items[1:]:
        result = function(result, item)
    return result


def _sum(items: list[Any]) -> Any:
    return _fold(lambda a, b: a + b, items)


def _determinant(rows: list[list[Any]]) -> Any:
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
