"""Tensors: fields and ndarrays by one name, and parameters that take both, as Quadrants has
them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from mlirad.frontend.python.values.annotations import FieldOrArray, MatrixType
from mlirad.kernel.axis_order import layout_of
from mlirad.lang.field.declaration import field, matrix_field
from mlirad.lang.field.kinds import Field
from mlirad.lang.layout.axes import Shape, order_of, sizes_of
from mlirad.lang.matrix import set_makers
from mlirad.lang.ndarray import Ndarray, make, ndarray


class Backend(IntEnum):
    """The kind of a tensor: a field, or an ndarray."""

    FIELD = 0
    NDARRAY = 1


class _TensorKind(type):
    """A class of fields and ndarrays by how many axes their elements have."""

    axes: int | None

    def __instancecheck__(cls, instance: object) -> bool:
        shape = getattr(instance, "element_shape", None)
        is_tensor = isinstance(instance, Field | Ndarray)
        return is_tensor and (cls.axes is None or (shape is not None and len(shape) == cls.axes))


class Tensor(metaclass=_TensorKind):
    """A field or an ndarray; as an annotation, a parameter that takes either."""

    axes: int | None = None
    __parameter_type__ = FieldOrArray()

    def __new__(cls, tensor: Any) -> Any:
        """Return a field or an ndarray as it is. Raises TypeError for anything else."""
        return wrap(tensor)


class VectorTensor(Tensor):
    """A field or an ndarray of vectors."""

    axes = 1


class MatrixTensor(Tensor):
    """A field or an ndarray of matrices."""

    axes = 2


def wrap(tensor: Any) -> Any:
    """Return a field or an ndarray as it is. Raises TypeError for anything else."""
    if not isinstance(tensor, Field | Ndarray):
        raise TypeError(
            f"qd.Tensor() requires a field or an ndarray, got a {type(tensor).__name__}"
        )
    return tensor


def tensor(
    dtype: Any,
    shape: Shape,
    *,
    backend: Backend | int = Backend.NDARRAY,
    layout: Any = None,
    needs_grad: bool = False,
    **unknown: object,
) -> Any:
    """A field, or an ndarray, of zeros. `layout` lists the axes of the shape as they lie in memory,
    the outermost first.

    Raises ValueError for another backend, and a layout that is no permutation of the axes,
    TypeError for keywords that it does not have, for a layout of vectors or matrices, and for a
    tensor in the place of a type.
    """
    if isinstance(dtype, Field | Ndarray):
        raise TypeError(
            f"qd.tensor() makes a new tensor; to wrap an existing {type(dtype).__name__}, use "
            "qd.wrap(tensor)"
        )
    if layout is not None and isinstance(dtype, MatrixType):
        raise TypeError("layout= is not supported with compound dtypes: vectors and matrices")
    _check_keywords("qd.tensor", unknown, "layout")
    kind = _backend(backend)
    if kind is Backend.NDARRAY:
        return ndarray(dtype, shape, needs_grad=needs_grad, layout=layout)
    axes = None if layout is None else layout_of(layout, len(sizes_of(shape)), "shape")
    return field(dtype, shape, order=order_of(axes), needs_grad=needs_grad)


def _backend(backend: Any) -> Backend:
    try:
        return Backend(backend)
    except (ValueError, TypeError):
        raise ValueError(
            f"backend={backend!r} is not a valid qd.Backend: it is qd.Backend.FIELD or "
            "qd.Backend.NDARRAY"
        ) from None


def _check_keywords(name: str, unknown: dict[str, object], cure: str) -> None:
    if "order" in unknown:
        if cure == "layout":
            raise TypeError(f"{name}(...) does not accept order=; pass layout=(...) instead")
        raise TypeError(f"{name} does not accept order= or layout=; use ti.field instead")
    if unknown:
        raise TypeError(f"{name}() got unexpected keyword argument(s) {sorted(unknown)!r}")


def tensor_of_elements(
    element_shape: tuple[int, ...],
    dtype: Any,
    shape: Shape,
    *,
    backend: Backend | int = Backend.NDARRAY,
    needs_grad: bool = False,
    **unknown: object,
) -> Any:
    """A tensor of vectors or matrices; see `tensor`."""
    _check_keywords("a tensor of vectors or matrices", unknown, "")
    maker = matrix_field if _backend(backend) is Backend.FIELD else make
    return maker(element_shape, dtype, shape, needs_grad=needs_grad)


set_makers(tensor=tensor_of_elements)
__all__ = ["Backend", "MatrixTensor", "Tensor", "VectorTensor", "tensor", "wrap"]
