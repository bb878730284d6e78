"""Arrays as arguments: their types, and whether a declaration allows them."""

from __future__ import annotations

from reprlib import repr as shortened
from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.frontend.python.values.annotations import MatrixType, NdarrayType
from mlirad.frontend.python.values.matrix import shown_type
from mlirad.kernel.arguments import NdarrayArgument
from mlirad.lang.arguments.foreign_array import (
    cure_of,
    foreign_array,
    is_array,
    is_on_device,
    is_torch,
    on_host,
)
from mlirad.lang.arguments.parameters import Parameter
from mlirad.lang.host.array_protocols import AsArray
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.memory.memory import DType
from mlirad.runtime.program import program
from mlirad.types import DataType, from_numpy, resolve


def describe_array(value: object, param: Parameter) -> NdarrayArgument:
    """The type of an array argument. Raises TaichiRuntimeTypeError if the declaration does not
    allow it."""
    declared: NdarrayType = param.annotation
    if isinstance(value, Ndarray):
        _check_ndarray(value, declared, param.name)
        dtype, ndim, element = value.dtype, len(value.shape), value.element_shape
        has_grad, layout = value.grad is not None, value.layout
    elif is_array(value):
        shape, element_type = _extents(value, param.name)
        dtype, element = _check_numpy(shape, element_type, declared, param.name)
        ndim = len(shape) - len(element)
        has_grad, layout = is_torch(value) and bool(value.requires_grad), None
    else:
        raise TaichiRuntimeTypeError(
            f"Invalid type for argument {param.name}, got {shortened(value)}: expected an "
            f"array{_cure(value)}"
        )
    needs_grad = has_grad if declared.needs_grad is None else declared.needs_grad and has_grad
    return NdarrayArgument(
        dtype, ndim, element, needs_grad, layout, declared.boundary, declared.needs_grad is False
    )


def _cure(value: object) -> str:
    if isinstance(value, AsArray):
        return "; pass a field as ti.template(), or read it by its name"
    makes_one = isinstance(value, list | tuple | memoryview) or hasattr(value, "__array__")
    return ": np.asarray(...) makes one of this" if makes_one else ""


def _refusal(name: str, reason: str) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(f"Invalid value for argument {name} - {reason}")


def _check_ndarray(value: Ndarray, declared: NdarrayType, name: str) -> None:
    want = declared.dtype
    provided = shown_type(value.element_shape, value.dtype)
    if isinstance(want, MatrixType):
        if not want.admits(value.element_shape) or (
            want.dtype is not None and resolve(want.dtype) != value.dtype
        ):
            raise _refusal(name, f"required element type: {want}, but {provided} is provided")
    elif want is not None and (value.element_shape or resolve(want) != value.dtype):
        raise TaichiRuntimeTypeError(
            f"Expect element type {want} for argument {name}, but get {provided}"
        )
    if declared.ndim is not None and declared.ndim != len(value.shape):
        raise _refusal(
            name,
            f"required ndim={declared.ndim}, but {len(value.shape)}d ndarray with shape "
            f"{value.shape} "
            "is provided",
        )


def _extents(value: Any, name: str) -> tuple[tuple[int, ...], DType]:
    """The shape and the type of an array of another library."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype
    if is_on_device(value):
        foreign = foreign_array(value, program().executor.memory, name)
        return foreign.shape, foreign.dtype
    array = on_host(value, name)
    return array.shape, array.dtype


def _check_numpy(
    shape: tuple[int, ...], raw: DType, declared: NdarrayType, name: str
) -> tuple[DataType, tuple[int, ...]]:
    """The scalar type and the shape of an element, where the array has the declared type."""
    try:
        dtype = from_numpy(raw)
    except TypeError as error:
        raise _refusal(name, f"{error}{cure_of(str(raw))}") from None
    want, element_ndim, ndim = declared.dtype, 0, len(shape)
    if isinstance(want, MatrixType):
        want, element_ndim = want.dtype, want.ndim
    if (declared.ndim is not None and declared.ndim + element_ndim != ndim) or element_ndim > ndim:
        inner = f" element_dim={element_ndim}" if element_ndim else ""
        raise _refusal(
            name,
            f"required array has ndim={declared.ndim}{inner}, array with {ndim} dimensions "
            f"is provided",
        )
    element = shape[ndim - element_ndim :]
    if isinstance(declared.dtype, MatrixType) and not declared.dtype.admits(element):
        raise _refusal(
            name,
            f"required element_shape={declared.dtype.shape}, array with element shape of {element} "
            "is provided",
        )
    if want is not None and resolve(want) != dtype:
        raise _refusal(
            name, f"required array has dtype={resolve(want)}, array with dtype={dtype} is provided"
        )
    return dtype, element
