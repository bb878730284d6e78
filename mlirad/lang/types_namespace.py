"""`ti.types`: types of arguments and elements."""

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
    """A vector or matrix type, for parameters, results, fields and ndarrays.

    Call the type to make a value: with its entries, with shorter vectors, or with one number for
    all entries. Raises TaichiCompilationError if the number of entries is wrong.
    """

    def matrix_class(self) -> type[Any]:
        return Matrix

    def field(self, *args: Any, **kwargs: Any) -> Any:
        """Declare a field of this type."""
        return lf.matrix_field(self.shape, self.dtype, *args, **kwargs)

    def ndarray(self, *args: Any, **kwargs: Any) -> Any:
        """Make an ndarray of this type."""
        return ln.make(self.shape, self.dtype, *args, **kwargs)


def vector(n: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """Return the type of vectors, for parameters, results and fields. Call the type to make a
    vector.

    Args:
        n: the number of entries; None stands for any vector.
        dtype: the scalar type, by default the default float type.

    Raises:
        TaichiTypeError: n is not an integer.
        ValueError: n is not positive.
    """
    if n is not None:
        (n,) = element_sizes([n])
    return _Type(n, None, dtype, 1)


def matrix(n: int | None = None, m: int | None = None, dtype: TypeLike | None = None) -> MatrixType:
    """Return the type of n×m matrices, for parameters, results and fields. Call the type to make a
    matrix.

    Args:
        n: the number of rows; None stands for any matrix.
        m: the number of columns.
        dtype: the scalar type, by default the default float type.

    Raises:
        TaichiTypeError: a size is not an integer.
        ValueError: a size is not positive.
    """
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
    """Return the type of array arguments: ndarrays, arrays of NumPy, torch and JAX, and other
    objects that support DLPack. What is None is left open.

    A launch raises TaichiRuntimeTypeError if its argument does not have the declared type.

    Args:
        dtype: a scalar, vector or matrix type.
        ndim: the number of index axes.
        needs_grad: whether the array has a gradient.
        boundary: "unsafe", or "clamp": an index beyond an end then reads and writes the last
            element.
        element_dim: the number of axes of an element.
        element_shape: the extents of an element.
        field_dim: another name for `ndim`.

    Raises:
        ValueError: the arguments contradict each other.
    """
    if ndim is not None and field_dim not in (None, ndim):
        raise ValueError(
            f"ndim={ndim} and field_dim={field_dim} contradict each other: they are two names "
            "for the same number"
        )
    if element_dim is not None or element_shape is not None:
        dtype = _element_type(dtype, element_dim, element_shape)
    if boundary not in ("unsafe", "clamp"):
        raise ValueError(f"expected boundary='unsafe' or boundary='clamp', got {boundary!r}")
    return NdarrayType(dtype, ndim if field_dim is None else field_dim, needs_grad, boundary)


vars(ndarray)["__parameter_type__"] = NdarrayType  # without its parentheses


def _element_type(
    dtype: TypeLike | MatrixType | None, dim: int | None, shape: tuple[int, ...] | None
) -> TypeLike | MatrixType | None:
    """The type of elements with so many axes, or of a shape."""
    if isinstance(dtype, MatrixType):
        raise TypeError(f"{dtype} already determines element_dim and element_shape")
    axes = len(shape) if shape is not None else dim
    if axes is None or not 0 <= axes <= 2:
        raise ValueError("expected scalars, vectors or matrices as elements of an array")
    if dim not in (None, axes):
        raise ValueError(f"element_dim={dim}, but element_shape={shape} has {axes} axes")
    if axes == 0:
        return dtype
    n, m = (shape[0], shape[-1]) if shape is not None else (None, None)
    return vector(n, dtype) if axes == 1 else matrix(n, m, dtype)


def argpack(**members: Any) -> ArgPackType:
    """Return the type of a named group of arguments that is passed as one.

    Args:
        members: the types by name.

    Returns:
        The type. Call it with values to make an `ArgPack`.
    """
    return ArgPackType(members)


def sparse_matrix_builder() -> ArgPackType:
    """Return the type of a sparse matrix builder argument: in a kernel, `A[i, j] += v` adds a
    triplet."""
    return TRIPLETS


def is_integral(dtype: TypeLike) -> bool:
    """Return whether a scalar type (`ti.i32`, `int`, or a NumPy type) is an integer type. Raises
    TypeError if it is not a scalar type."""
    return resolve(dtype).is_integer


def is_signed(dtype: DataType) -> bool:
    """Return whether a scalar type of mlirad is a signed integer type."""
    return dtype.is_integer and dtype.is_signed


def is_real(dtype: TypeLike) -> bool:
    """Return whether a scalar type (`ti.f32`, `float`, or a NumPy type) is a float type. Raises
    TypeError if it is not a scalar type."""
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
