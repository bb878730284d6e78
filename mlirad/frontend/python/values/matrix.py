"""Vectors and matrices: entries in row-major order, generic over Python numbers and kernel
scalars."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from mlirad.dialect import field
from mlirad.errors import (
    TaichiCompilationError,
    TaichiIndexError,
    TaichiRuntimeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from mlirad.frontend.python.building.builder import current, in_kernel
from mlirad.frontend.python.values import functions as fn
from mlirad.frontend.python.values import scalar as ex
from mlirad.frontend.python.values.matrix_algebra import Algebra
from mlirad.frontend.python.values.matrix_operators import Rows
from mlirad.frontend.python.values.scalar import Expr, Scalar
from mlirad.types import TypeLike, resolve

# a subscript
Key = Scalar | slice | Algebra | tuple[Scalar | slice, ...]
SWIZZLES = ("xyzw", "rgba", "stpq")


def swizzle(name: str) -> list[int] | None:
    """The positions that a name like `xzy` or `rg` selects, or None."""
    for letters in SWIZZLES:
        if 0 < len(name) <= 4 and all(c in letters for c in name):
            return [letters.index(c) for c in name]
    return None


def check_swizzle(name: str, positions: Sequence[int], extent: int) -> None:
    """Raise TaichiSyntaxError if a swizzle names a component that a vector does not have."""
    if max(positions) >= extent:
        letters = next(letters for letters in SWIZZLES if all(c in letters for c in name))
        raise TaichiSyntaxError(
            f"vec{extent} only has attributes={tuple(letters[:extent])}, got={tuple(name)}"
        )


def swizzle_values(
    name: str, positions: Sequence[int], extent: int, value: Scalar | Iterable[Scalar]
) -> list[Any]:
    """The values that an assignment to a swizzle gives, one for each component."""
    check_swizzle(name, positions, extent)
    if len(positions) == 1 or ex.is_scalar(value):
        return [value] * len(positions)
    values = list(value)
    if len(values) != len(positions):
        raise TaichiRuntimeError(f"value len does not match the swizzle pattern={name}")
    return values


def shown_type(shape: Sequence[int], dtype: object) -> str:
    """A type of values, for messages: `i32`, `[Tensor (2, 3) i32]`."""
    return f"[Tensor ({', '.join(map(str, shape))}) {dtype}]" if shape else str(dtype)


def check_indices(indices: Sequence[Scalar | slice], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Indices into entries, constants made positive. Raises TaichiIndexError for a wrong rank or
    range."""
    if len(indices) != len(shape):
        raise TaichiIndexError(f"Expected {len(shape)} indices, got {len(indices)}")
    checked: list[Any] = []
    for extent, index in zip(shape, indices):
        index = fn.python_value(index)
        if isinstance(index, float) or (isinstance(index, Expr) and index.dtype.is_float):
            raise TaichiTypeError("an index must be an integer")
        if isinstance(index, int):
            if not -extent <= index < extent:
                raise TaichiIndexError(
                    f"index {index} is out of range for a value of shape {shape}"
                )
            index %= extent
        elif isinstance(index, Expr) and current().debug:
            inside = (index >= 0) & (index < extent)
            message = f"Out of bound access: index {{}} into a value of shape {shape}"
            field.assert_(inside.value, message, [index.value])
            index = ex.select(inside, index, 0)
        checked.append(index)
    return tuple(checked)


def _indices(key: Key) -> tuple[Any, ...]:
    """The indices of a subscript: a vector is one for each axis."""
    if isinstance(key, Matrix):
        return tuple(key.entries)
    return key if isinstance(key, tuple) else (key,)


class Matrix(Algebra):
    """An n×m matrix, or a vector of n entries (`ndim` 1). Operators act elementwise, `@`
    multiplies."""

    def __init__(self, rows: Rows | Algebra, dt: TypeLike | None = None) -> None:
        rows = rows.tolist() if isinstance(rows, np.ndarray) else rows
        if isinstance(rows, Matrix):
            rows = rows.rows_list()
        if not isinstance(rows, list | tuple):
            raise TaichiTypeError(
                f"expected a list to make a matrix from, got {type(rows).__name__}"
            )
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
            self.entries = _unify(self.entries)

    def _set(self, n: int, m: int, ndim: int, entries: Sequence[Scalar]) -> None:
        self.n, self.m, self.ndim = n, m, ndim
        self.entries = list(entries)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.n,) if self.ndim == 1 else (self.n, self.m)

    def made_from(self, rows: Rows) -> Matrix:
        return Matrix(rows)

    def like(self, entries: Sequence[Scalar]) -> Matrix:
        """A matrix of this shape with other entries."""
        return self.of_shape(self.shape, entries)

    @classmethod
    def of_shape(cls, shape: Sequence[int], entries: Sequence[Scalar]) -> Matrix:
        """A matrix of a shape from entries in row-major order."""
        result = cls.__new__(cls)
        result._set(shape[0], shape[1] if len(shape) > 1 else 1, len(shape), entries)
        return result

    def rows_list(self) -> list[Any]:
        if self.ndim == 1:
            return list(self.entries)
        return [self.entries[i * self.m : (i + 1) * self.m] for i in range(self.n)]

    to_list = tolist = rows_list

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The entries as a NumPy array of the matrix' shape."""
        return np.array(self.rows_list())

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        return np.array(self.rows_list(), dtype=dtype)

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries if self.ndim == 1 else [self.row(i) for i in range(self.n)])

    def __repr__(self) -> str:
        return f"{self.rows_list()}"

    def flattened(self) -> Matrix:
        """The entries as a vector."""
        return self.of_shape((len(self.entries),), list(self.entries))

    # Entries.

    def flat_index(self, indices: Sequence[Scalar | slice]) -> Any:
        """Return the position in `entries`; an Expr if an index is known only at run time."""
        position: Any = 0
        for extent, index in zip(self.shape, check_indices(indices, self.shape)):
            position = position * extent + index
        return position

    def __getitem__(self, key: Key) -> Any:
        indices = _indices(key)
        if any(isinstance(i, slice) for i in indices):
            return self._slice_at(indices)
        position = self.flat_index(indices)
        if isinstance(position, int):
            return self.entries[position]
        value = self.entries[0]
        for k in range(1, len(self.entries)):
            value = ex.select(position == k, self.entries[k], value)
        return value

    def __setitem__(self, key: Key, value: Scalar) -> None:
        indices = _indices(key)
        position = self.flat_index(indices)
        if not isinstance(position, int):
            raise TaichiTypeError(
                "an entry of a constant matrix cannot be set at a position known only at run time"
            )
        self.entries[position] = value

    def _slice_at(self, indices: Sequence[Scalar | slice]) -> Matrix:
        if len(indices) != self.ndim:
            raise TaichiIndexError(f"Expected {self.ndim} indices, got {len(indices)}")
        chosen = [
            list(range(extent))[i] if isinstance(i, slice) else [i]
            for i, extent in zip(indices, self.shape)
        ]
        entries = [
            self[index if self.ndim == 2 else index[0]] for index in itertools.product(*chosen)
        ]
        shape = [len(c) for c, i in zip(chosen, indices) if isinstance(i, slice)]
        return self.of_shape(shape, entries)

    def row(self, i: Scalar) -> Matrix:
        """Row `i` as a vector."""
        return self.of_shape((self.m,), [self[i, j] for j in range(self.m)])

    def __getattr__(self, name: str) -> Any:
        positions = swizzle(name)
        if positions is None or "ndim" not in self.__dict__ or self.ndim != 1:
            from mlirad.frontend.python.values.other_names import OF_VECTORS, attribute_cure

            kind = f"matrix of shape {self.shape}" if "ndim" in self.__dict__ else "matrix"
            cure = attribute_cure(name, OF_VECTORS)
            raise AttributeError(f"a {kind} has no attribute '{name}'{cure}")
        check_swizzle(name, positions, self.n)
        picked = [self.entries[p] for p in positions]
        return picked[0] if len(picked) == 1 else self.of_shape((len(picked),), picked)

    def __setattr__(self, name: str, value: Any) -> None:
        positions = swizzle(name) if name not in ("n", "m") else None
        if positions is None:
            object.__setattr__(self, name, value)
            return
        for position, item in zip(positions, swizzle_values(name, positions, self.n, value)):
            self.entries[position] = item

    # Constructors.

    @classmethod
    def filled(cls, value: Scalar, dt: TypeLike, n: int, m: int | None) -> Matrix:
        """A matrix (or, without `m`, a vector) of one value."""
        shape = (n,) if m is None else (n, m)
        return cls.of_shape(shape, [_constant(value, dt) for _ in range(n * (m or 1))])

    @classmethod
    def zero(cls, dt: TypeLike, n: int, m: int | None = None) -> Matrix:
        """All zeros."""
        return cls.filled(0, dt, n, m)

    @classmethod
    def one(cls, dt: TypeLike, n: int, m: int | None = None) -> Matrix:
        """All ones."""
        return cls.filled(1, dt, n, m)

    @classmethod
    def unit(cls, n: int, i: int, dt: TypeLike = int) -> Matrix:
        """The `i`-th unit vector."""
        return cls.of_shape((n,), [_constant(1 if k == i else 0, dt) for k in range(n)])

    @classmethod
    def identity(cls, dt: TypeLike, n: int) -> Matrix:
        """The identity."""
        return cls.of_shape(
            (n, n), [_constant(1 if i == j else 0, dt) for i in range(n) for j in range(n)]
        )

    @classmethod
    def diag(cls, dim: int, val: Scalar) -> Matrix:
        """`val` on the diagonal."""
        zero = val * 0 if isinstance(val, Expr) else type(val)(0)
        return cls.of_shape(
            (dim, dim), [val if i == j else zero for i in range(dim) for j in range(dim)]
        )

    @classmethod
    def rows(cls, rows: Sequence[Iterable[Scalar]]) -> Matrix:
        """A matrix from its rows."""
        return cls([list(row) for row in rows])

    @classmethod
    def cols(cls, columns: Sequence[Iterable[Scalar]]) -> Matrix:
        """A matrix from its columns."""
        return cls.rows(columns).transpose()


Value = Scalar | Matrix


def _constant(value: Scalar, dt: TypeLike) -> Any:
    if in_kernel():
        return ex.cast(value, resolve(dt, current().default_fp, current().default_ip))
    return float(value) if resolve(dt).is_float else int(value)


def _unify(entries: Sequence[Scalar]) -> list[Any]:
    """Entries of one type: a float among integers makes all of them floats."""
    entries = [fn.python_value(entry) for entry in entries]
    if not entries:
        raise TaichiTypeError(
            "a vector or matrix has at least one entry: ti.Vector([0.0, 0.0]), or "
            "ti.Vector.zero(float, n) for n zeros"
        )
    if not all(ex.is_scalar(entry) for entry in entries):
        raise TaichiTypeError("the entries of a matrix must be scalars")
    types = {ex.dtype_of(entry) for entry in entries}
    if len(types) == 1:
        return entries
    dtype = reduce(ex.promote, list(types))
    return [ex.cast(entry, dtype) for entry in entries]
