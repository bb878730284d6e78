"""`ti.Vector` and `ti.Matrix`: values in Python scope and in kernels, and the makers of fields of
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlirad.frontend.python.values import matrix as fm
from mlirad.frontend.python.values.scalar import Scalar
from mlirad.lang.layout.axes import Shape
from mlirad.types import TypeLike


class Matrix(fm.Matrix):
    """An n×m matrix of scalars, in kernels and in Python: `ti.Matrix([[1, 2], [3, 4]])`.

    In kernels, operations on matrices are unrolled, so matrices should be small.

    Args:
        rows: a list of rows, or a list of numbers.
        dt: the type of the entries, by default the type of the given numbers.

    Raises:
        TaichiTypeError: `rows` is not a list of numbers.
        TaichiCompilationError: the rows differ in length, or (in operations) the shapes do not fit.
    """

    @staticmethod
    def field(
        n: int,
        m: int,
        dtype: TypeLike,
        shape: Shape | None = None,
        order: str | None = None,
        **options: Any,
    ) -> Any:
        """Declare a field of n×m matrices of a scalar type; see `ti.field`."""
        return _makers["field"]((n, m), dtype, shape, order, **options)

    @staticmethod
    def ndarray(n: int, m: int, dtype: TypeLike, shape: Shape, **options: Any) -> Any:
        """Make an ndarray of n×m matrices of a scalar type; see `ti.ndarray`."""
        return _makers["ndarray"]((n, m), dtype, shape, **options)

    @staticmethod
    def tensor(n: int, m: int, dtype: TypeLike, shape: Shape, **options: Any) -> Any:
        """Make a field or an ndarray of n×m matrices; see `qd.tensor`."""
        return _makers["tensor"]((n, m), dtype, shape, **options)


class Vector(Matrix):
    """A vector of n scalars, in kernels and in Python: `ti.Vector([1, 2, 3])`. See `Matrix`."""

    @staticmethod
    def field(  # type: ignore[override]
        n: int,
        dtype: TypeLike,
        shape: Shape | None = None,
        order: str | None = None,
        **options: Any,
    ) -> Any:
        """Declare a field of vectors of n entries of a scalar type; see `ti.field`."""
        return _makers["field"]((n,), dtype, shape, order, **options)

    @staticmethod
    def ndarray(n: int, dtype: TypeLike, shape: Shape, **options: Any) -> Any:  # type: ignore[override]
        """Make an ndarray of vectors of n entries of a scalar type; see `ti.ndarray`."""
        return _makers["ndarray"]((n,), dtype, shape, **options)

    @staticmethod
    def tensor(n: int, dtype: TypeLike, shape: Shape, **options: Any) -> Any:  # type: ignore[override]
        """Make a field or an ndarray of vectors of n entries; see `qd.tensor`."""
        return _makers["tensor"]((n,), dtype, shape, **options)


_makers: dict[str, Callable[..., Any]] = {}


def set_makers(**makers: Callable[..., Any]) -> None:
    """Name the functions that make fields, ndarrays and tensors of matrices."""
    _makers.update(makers)


class ElementMatrix(Matrix):
    """An element of a field in Python scope: entries that are set go to the field."""

    def __init__(
        self,
        shape: tuple[int, ...],
        entries: list[Any],
        write: Callable[[tuple[int, ...], Any], None],
        note_read: Callable[[], object] | None = None,
    ) -> None:
        """`write` sets the entry at a position in the field; `note_read` is called when entries are
        used, which they are not where one is set."""
        object.__setattr__(self, "_write_entry", write)
        object.__setattr__(self, "_note_read", note_read)
        self._set(shape[0], shape[1] if len(shape) > 1 else 1, len(shape), entries)

    @property
    def entries(self) -> list[Any]:
        """The entries, in row-major order."""
        note_read = self.__dict__["_note_read"]
        if note_read is not None:
            self.__dict__["_note_read"] = None
            note_read()
        entries: list[Any] = self.__dict__["_entries"]
        return entries

    @entries.setter
    def entries(self, entries: list[Any]) -> None:
        self.__dict__["_entries"] = entries

    def like(self, entries: Sequence[Scalar]) -> fm.Matrix:
        return Matrix.of_shape(self.shape, entries)

    @classmethod
    def of_shape(cls, shape: Sequence[int], entries: Sequence[Scalar]) -> fm.Matrix:
        return Matrix.of_shape(shape, entries)

    def __setitem__(self, key: Any, value: Scalar) -> None:
        note_read, self.__dict__["_note_read"] = self.__dict__["_note_read"], None
        super().__setitem__(key, value)
        self.__dict__["_note_read"] = note_read
        self._write(key if isinstance(key, tuple) else (key,), value)

    def __setattr__(self, name: str, value: Any) -> None:
        note_read, self.__dict__["_note_read"] = self.__dict__.get("_note_read"), None
        super().__setattr__(name, value)
        self.__dict__["_note_read"] = note_read
        positions = fm.swizzle(name) if name not in ("n", "m") else None
        if positions is not None:
            for position, item in zip(positions, [value] if len(positions) == 1 else value):
                self._write((position,), item)

    def _write(self, position: tuple[int, ...], value: Any) -> None:
        self._write_entry(tuple([int(p) % n for p, n in zip(position, self.shape)]), value)
