"""`ti.types`: makers of argument and element types."""

from __future__ import annotations

from typing import Any

from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType, Template
from mlirad.lang import ndarray as ln
from mlirad.lang import struct as ls
from mlirad.lang.arguments.packs import ArgPackType
from mlirad.lang.arguments.triplets import TRIPLETS
from mlirad.lang.field import declaration as lf
from mlirad.lang.layout.axes import element_sizes
from mlirad.lang.matrix import Matrix, set_makers
from mlirad.types import ALL, DataType, TypeLike, resolve


class _Type(MatrixType):
    """A type of vectors or matrices, for parameters, results, fields and ndarrays; called with
    entries, shorter vectors or one number for all it makes one. Raises TaichiCompilationError for
    another number of entries."""

    def matrix_class(self) -> type[Any]:
        return Matrix

    def field(self, *args: Any, **kwargs: Any) -> Any:
        """A field of this type."""
        return lf.matrix_field(self.shape, self.dtype, *args, **kwargs)

    def ndarray(self, *args: Any, **kwargs: Any) -> Any:
        """An ndarray of this type."""
        return ln.make(self.shape, self.dtype, *args, **kwargs)


def vector(n: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """The type of vectors of n entries of a scalar type (by default the default float type), for
    parameters, results and fields; called, it makes a vector. Without n, of any vector. Raises
    TaichiTypeError for a size that is no integer, ValueError for one that is not positive."""
    if n is not None:
        (n,) = element_sizes([n])
    return _Type(n, None, dtype, 1)


def matrix(n: int | None = None, m: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """The type of n×m matrices of a scalar type (by default the default float type), for
    parameters, results and fields; called, it makes a matrix. Without sizes, of any matrix. Raises
    TaichiTypeError for a size that is no integer, ValueError for one that is not positive."""
    if n is not None or m is not None:
        n, m = element_sizes([n, m])
    return _Type(n, m, dtype, 2)


def ndarray(
    dtype: TypeLike | MatrixType | None = None,
    ndim: int | None = None,
    needs_grad: bool | None = None,
    boundary: str = "unsafe",
    element_dim: int | None = None,
    element_shape: tuple[int, ...] | None = None,
    field_dim: int | None = None,
) -> NdarrayType:
    """The type of array arguments: ndarrays, NumPy's, torch's and JAX's arrays, and whatever speaks
    DLPack; what is None is left open. Launches raise TaichiRuntimeTypeError for others.

    `dtype` is a scalar type, or that of a vector or matrix, `ndim` the number of index axes.
    `boundary="clamp"` has indices beyond an end read and write the last element.
    `element_dim` and `element_shape` say how many axes an element has, and of which extents;
    `field_dim` is another name of `ndim`. Raises ValueError if these contradict one another.
    """
    if ndim is not None and field_dim not in (None, ndim):
        raise ValueError(f"ndim={ndim} and field_dim={field_dim}, which are names of one thing")
    if element_dim is not None or element_shape is not None:
        dtype = _element_type(dtype, element_dim, element_shape)
    if boundary not in ("unsafe", "clamp"):
        raise ValueError(f"boundary is 'unsafe' or 'clamp', not {boundary!r}")
    return NdarrayType(dtype, ndim if field_dim is None else field_dim, needs_grad, boundary)


vars(ndarray)["__parameter_type__"] = NdarrayType  # without its parentheses


def _element_type(
    dtype: TypeLike | MatrixType | None, dim: int | None, shape: tuple[int, ...] | None
) -> TypeLike | MatrixType | None:
    """The type of elements with so many axes, or of a shape."""
    if isinstance(dtype, MatrixType):
        raise TypeError(f"{dtype} says already what element_dim and element_shape say")
    axes = len(shape) if shape is not None else dim
    if axes is None or not 0 <= axes <= 2:
        raise ValueError("elements of an array are scalars, vectors or matrices")
    if dim not in (None, axes):
        raise ValueError(f"element_dim={dim}, but element_shape={shape} has {axes} axes")
    if axes == 0:
        return dtype
    n, m = (shape[0], shape[-1]) if shape is not None else (None, None)
    return vector(n, dtype) if axes == 1 else matrix(n, m, dtype)


def argpack(**members: Any) -> ArgPackType:
    """The type of several arguments that are passed as one, by names and types: called with values,
    it makes an `ArgPack`."""
    return ArgPackType(members)


def sparse_matrix_builder() -> ArgPackType:
    """The type of builders of sparse matrices: `A[i, j] += v` in a kernel adds a triplet."""
    return TRIPLETS


def is_integral(dtype: TypeLike) -> bool:
    """Return whether a scalar type (`ti.i32`, `int`, one of NumPy's) is one of integers. Raises
    TypeError for what is none."""
    return resolve(dtype).is_integer


def is_signed(dtype: DataType) -> bool:
    """Return whether one of mlirad's scalar types is of integers with a sign."""
    return dtype.is_integer and dtype.is_signed


def is_real(dtype: TypeLike) -> bool:
    """Return whether a scalar type (`ti.f32`, `float`, one of NumPy's) is one of floats. Raises
    TypeError for what is none."""
    return resolve(dtype).is_float


template = Template
struct = ls.struct
globals().update({scalar.name: scalar for scalar in ALL})
set_makers(field=lf.matrix_field, ndarray=ln.make)
__all__ = [
    "argpack",
    "is_integral",
    "is_real",
    "is_signed",
    "matrix",
    "ndarray",
    "sparse_matrix_builder",
    "struct",
    "template",
    "vector",
    *(scalar.name for scalar in ALL),
]


def __dir__() -> list[str]:
    return __all__
