"""`ti.types`: makers of argument and element types."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.annotations import MatrixType, NdarrayType, Template
from mlirad.lang import ndarray as ln
from mlirad.lang.field import declaration as lf
from mlirad.lang.matrix import Matrix, Vector, set_makers
from mlirad.types import ALL, DataType, TypeLike, resolve


class _Type(MatrixType):
    """A matrix type that can make fields and ndarrays."""

    def matrix_class(self) -> type[Any]:
        return Matrix

    def field(self, *args: Any, **kwargs: Any) -> Any:
        """A field of this type."""
        return lf.matrix_field(self.shape, self.dtype, *args, **kwargs)

    def ndarray(self, *args: Any, **kwargs: Any) -> Any:
        """An ndarray of this type."""
        return ln.make(self.shape, self.dtype, *args, **kwargs)


def vector(n: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """The type of vectors of n entries; without n, of any vector."""
    return _Type(n, None, dtype, 1)


def matrix(n: int | None = None, m: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """The type of n×m matrices; without sizes, of any matrix."""
    return _Type(n, m, dtype, 2)


def ndarray(
    dtype: TypeLike | None = None,
    ndim: int | None = None,
    needs_grad: bool | None = None,
    boundary: str = "unsafe",
    element_dim: int | None = None,
    element_shape: object = None,
    field_dim: int | None = None,
) -> NdarrayType:
    """The type of array arguments; what is None is left open."""
    return NdarrayType(dtype, ndim if field_dim is None else field_dim, needs_grad, boundary)


def is_integral(dtype: TypeLike) -> bool:
    """Whether a scalar type is an integer type."""
    return resolve(dtype).is_integer


def is_signed(dtype: DataType) -> bool:
    """Whether a scalar type has negative integers."""
    return dtype.is_integer and dtype.is_signed


def is_real(dtype: TypeLike) -> bool:
    """Whether a scalar type is a float type."""
    return resolve(dtype).is_float


template = Template
globals().update({scalar.name: scalar for scalar in ALL})
set_makers(lf.matrix_field, ln.make)
__all__ = ["Vector", "matrix", "ndarray", "template", "vector"]
