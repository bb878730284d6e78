"""The arguments of a launch: what is part of the compiled kernel, and what is passed to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlirad.errors import TaichiRuntimeError, TaichiRuntimeTypeError, TaichiSyntaxError
from mlirad.frontend.python.annotations import MatrixType, NdarrayType, is_template
from mlirad.frontend.python.matrix import Matrix
from mlirad.frontend.python.scalar import in_range
from mlirad.kernel.arguments import (
    Argument,
    ConstantArgument,
    MatrixArgument,
    NdarrayArgument,
    ScalarArgument,
)
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.config import Config
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.program import program
from mlirad.types import DataType, from_numpy, resolve

SCALAR, MATRIX, NDARRAY, TEMPLATE = range(4)


@dataclass(frozen=True)
class Parameter:
    """A declared parameter of a kernel."""

    name: str
    kind: int
    annotation: Any


def parameter(name: str, annotation: Any, kernel: str) -> Parameter:
    """Classify a parameter by its annotation. Raises TaichiSyntaxError for one that says
    nothing."""
    if is_template(annotation):
        return Parameter(name, TEMPLATE, annotation)
    if isinstance(annotation, NdarrayType) or annotation is NdarrayType:
        return Parameter(
            name, NDARRAY, annotation if isinstance(annotation, NdarrayType) else NdarrayType()
        )
    if isinstance(annotation, MatrixType):
        return Parameter(name, MATRIX, annotation)
    if isinstance(annotation, DataType) or annotation in (int, float, bool):
        return Parameter(name, SCALAR, annotation)
    if annotation is None:
        raise TaichiSyntaxError(
            f"Taichi kernels parameters must be type annotated: parameter '{name}' of '{kernel}'"
        )
    raise TaichiSyntaxError(
        f"Invalid type annotation (argument {name}) of kernel '{kernel}': {annotation!r}"
    )


@dataclass(frozen=True)
class ArrayBuffer:
    """An array argument as a launch needs it: where it is, and how large.

    Of an array that is not contiguous a copy is passed; `back` writes it to what was `given`.
    """

    address: int
    dims: tuple[int, ...]
    grad: ArrayBuffer | None
    owner: Any
    back: Callable[[], None] | None = None
    given: np.ndarray[Any, Any] | None = None
    name: str = ""  # of the parameter
    is_mirror: bool = False  # a tape's copy of the array that was given
    is_read_only: bool = False

    def elements(self) -> Elements:
        """The elements: of our memory, or of the user's."""
        if isinstance(self.owner, Ndarray):
            return self.owner.elements
        return program().executor.memory.given(self.array())

    def adjoint(self) -> ArrayBuffer:
        """Its gradient. Raises TaichiRuntimeError where it has none."""
        if self.grad is None:
            raise TaichiRuntimeError("an array argument without a gradient in a reverse launch")
        return self.grad

    def tangent(self, number: int) -> ArrayBuffer:
        """Its tangents in one direction. Raises TaichiRuntimeError for an array that is no ndarray
        of ours."""
        if not isinstance(self.owner, Ndarray):
            raise TaichiRuntimeError(
                f"a {type(self.owner).__name__} has no tangents: forward mode takes ti.ndarray"
            )
        return array_buffer(self.owner.tangent(number), "", False)

    def array(self) -> np.ndarray[Any, Any]:
        """The array that is passed, of the user's or a copy of it."""
        values: np.ndarray[Any, Any] = (
            self.owner if isinstance(self.owner, np.ndarray) else self.owner.detach().numpy()
        )
        return values

    def theirs(self) -> np.ndarray[Any, Any]:
        """The array that was given, which is not ours, and may not be contiguous."""
        return self.array() if self.given is None else self.given

    @property
    def nbytes(self) -> int:
        """The size of what is passed."""
        owner = self.owner
        return owner.elements.nbytes if isinstance(owner, Ndarray) else self.array().nbytes

    @property
    def is_ours(self) -> bool:
        """Whether this is a `ti.ndarray`: what Python writes there is seen."""
        return isinstance(self.owner, Ndarray) and not self.is_mirror

    def without_copy(self) -> ArrayBuffer:
        """The same without the copy that was passed of an array that is not contiguous; see
        `renewed`."""
        return self if self.given is None else replace(self, address=0, owner=None, back=None)

    def renewed(self) -> ArrayBuffer:
        """The same with a copy as it is passed now, where one is needed."""
        return self if self.given is None else array_buffer(self.given, self.name, False)


def scalar_dtype(param: Parameter, config: Config) -> DataType:
    """The type a scalar parameter is passed as."""
    annotation = (
        param.annotation.dtype if isinstance(param.annotation, MatrixType) else param.annotation
    )
    return resolve(
        float if annotation is None else annotation, config.default_fp, config.default_ip
    )


def plain_range(dtype: DataType) -> tuple[type, float, float]:
    """The Python type whose numbers need no conversion to a scalar type, and their range."""
    if dtype.is_float:
        return float, float("-inf"), float("inf")
    if dtype.bits == 1:
        return bool, 0, 2
    return (
        int,
        -(1 << (dtype.bits - 1)) if dtype.is_signed else 0,
        1 << (dtype.bits - dtype.is_signed),
    )


def convert_scalar(value: Any, dtype: DataType, name: str) -> Any:
    """A Python number for a scalar parameter. Raises TaichiRuntimeTypeError for anything that is
    not one."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.shape == ()):
        value = value.item()
    if isinstance(value, bool) or (isinstance(value, int) and dtype.is_integer):
        if dtype.is_integer and dtype.bits > 1 and not in_range(value, dtype):
            raise TaichiRuntimeTypeError(f"Argument {name}: {value} does not fit into {dtype}")
        return bool(value) if dtype.bits == 1 else value
    if isinstance(value, int | float) and dtype.is_float:
        return float(value)
    raise TaichiRuntimeTypeError(
        f"Argument {name} (type={type(value).__name__}) cannot be converted into required "
        f"type {dtype}"
    )


def _torch_like(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch"


def array_buffer(value: Any, name: str, with_grad: bool) -> ArrayBuffer:
    """The memory of an array argument. Raises TaichiRuntimeTypeError for what is not an array."""
    if isinstance(value, Ndarray):
        if value.program is not program():
            raise TaichiRuntimeError(
                f"Argument {name}: the ndarray belongs to a program that ti.init() or ti.reset() "
                f"ended"
            )
        grad = (
            array_buffer(value.grad, name, False) if with_grad and value.grad is not None else None
        )
        return ArrayBuffer(value.address, value.dims, grad, value, name=name)
    if isinstance(value, np.ndarray):
        is_read_only = not value.flags.writeable
        if value.flags.c_contiguous:
            return ArrayBuffer(
                value.ctypes.data, value.shape, None, value, name=name, is_read_only=is_read_only
            )
        copy = np.ascontiguousarray(value)

        def back() -> None:
            value[...] = copy

        return ArrayBuffer(
            copy.ctypes.data, copy.shape, None, copy, back, value, name, is_read_only=is_read_only
        )
    if _torch_like(value):
        array = value.detach().numpy()
        if not array.flags.c_contiguous:
            raise TaichiRuntimeTypeError(
                f"Argument {name}: non contiguous tensors are not supported, "
                "call tensor.contiguous() first"
            )
        grad = None
        if with_grad and value.requires_grad:
            if value.grad is None:
                value.grad = value.data.clone().zero_()
            grad = array_buffer(value.grad, name, False)
        return ArrayBuffer(
            array.ctypes.data,
            array.shape,
            grad,
            value,
            name=name,
            is_read_only=not array.flags.writeable,
        )
    raise TaichiRuntimeTypeError(
        f"Argument {name}: an array is needed, not a {type(value).__name__}"
    )


def same_arrays(buffers: dict[str, ArrayBuffer]) -> dict[str, str]:
    """Parameters given the array of an earlier one, with that one. Raises TaichiRuntimeTypeError
    where arrays overlap.

    Kernels are compiled for arrays that share no memory, so two names for one array become one.
    """
    same: dict[str, str] = {}
    earlier: list[tuple[str, int, int, ArrayBuffer]] = []
    for name, buffer in buffers.items():
        start, end = extent(buffer)
        for other, first, last, owner in earlier:
            if start < last and first < end:
                if not _is_same(buffer, owner):
                    if not (buffer.is_ours or owner.is_ours or overlap(buffer, owner)):
                        continue
                    raise TaichiRuntimeTypeError(
                        f"Arguments {other} and {name} overlap in memory and are not the same "
                        "array: pass copies, or one array with an offset"
                    )
                same[name] = other
                break
        else:
            earlier.append((name, start, end, buffer))
    return same


def extent(buffer: ArrayBuffer) -> tuple[int, int]:
    """The first byte of an array in the program's memory, and the one behind its last."""
    if buffer.given is None:
        return buffer.address, buffer.address + buffer.nbytes
    start, view = buffer.given.__array_interface__["data"][0], buffer.given
    if not view.size:
        return start, start
    ends = [(size - 1) * stride for size, stride in zip(view.shape, view.strides)]
    return start + sum(end for end in ends if end < 0), start + sum(
        end for end in ends if end > 0
    ) + view.itemsize


def _is_same(left: ArrayBuffer, right: ArrayBuffer) -> bool:
    if left.given is None and right.given is None:
        return (left.address, left.dims, left.nbytes) == (
            right.address,
            right.dims,
            right.nbytes,
        )
    if left.is_ours or right.is_ours:
        return False
    one, other = left.theirs(), right.theirs()
    return (one.__array_interface__["data"], one.shape, one.strides, one.dtype) == (
        other.__array_interface__["data"],
        other.shape,
        other.strides,
        other.dtype,
    )


def overlap(left: ArrayBuffer, right: ArrayBuffer) -> bool:
    """Whether two arrays that are not ours have an element in common, or may have: that can be too
    hard to find out."""
    try:
        return np.shares_memory(left.theirs(), right.theirs(), max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def describe_array(value: Any, param: Parameter) -> NdarrayArgument:
    """The type of an array argument. Raises TaichiRuntimeTypeError where the declaration does not
    allow it."""
    declared: NdarrayType = param.annotation
    if isinstance(value, Ndarray):
        _check_ndarray(value, declared, param.name)
        dtype, ndim, element, has_grad = (
            value.dtype,
            len(value.shape),
            value.element_shape,
            value.grad is not None,
        )
    elif isinstance(value, np.ndarray) or _torch_like(value):
        raw = value if isinstance(value, np.ndarray) else value.detach().numpy()
        dtype, element = _check_numpy(raw, declared, param.name)
        ndim = raw.ndim - len(element)
        has_grad = _torch_like(value) and bool(value.requires_grad)
    else:
        raise _refused(param.name, f"an array is needed, but a {type(value).__name__} is provided")
    needs_grad = has_grad if declared.needs_grad is None else declared.needs_grad and has_grad
    return NdarrayArgument(
        dtype, ndim, element, needs_grad, declared.boundary, declared.needs_grad is False
    )


def _refused(name: str, reason: str) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(f"Invalid value for argument {name} - {reason}")


def _check_ndarray(value: Ndarray, declared: NdarrayType, name: str) -> None:
    want = declared.dtype
    shown = (
        f"[Tensor {_shown_shape(value.element_shape)} {value.dtype}]"
        if value.element_shape
        else str(value.dtype)
    )
    if isinstance(want, MatrixType):
        if not want.admits(value.element_shape) or (
            want.dtype is not None and resolve(want.dtype) != value.dtype
        ):
            raise _refused(name, f"required element type: {want}, but {shown} is provided")
    elif want is not None and (value.element_shape or resolve(want) != value.dtype):
        raise TaichiRuntimeTypeError(
            f"Expect element type {want} for argument {name}, but get {shown}"
        )
    if declared.ndim is not None and declared.ndim != len(value.shape):
        raise _refused(
            name,
            f"required ndim={declared.ndim}, but {len(value.shape)}d ndarray with shape "
            f"{value.shape} "
            "is provided",
        )


def _shown_shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _check_numpy(
    raw: np.ndarray[Any, Any], declared: NdarrayType, name: str
) -> tuple[DataType, tuple[int, ...]]:
    """The scalar type and the shape of an element, where the array has the declared type."""
    try:
        dtype = from_numpy(raw.dtype)
    except TypeError as error:
        raise _refused(name, str(error)) from None
    want, element_ndim = declared.dtype, 0
    if isinstance(want, MatrixType):
        want, element_ndim = want.dtype, want.ndim
    if (
        declared.ndim is not None and declared.ndim + element_ndim != raw.ndim
    ) or element_ndim > raw.ndim:
        inner = f" element_dim={element_ndim}" if element_ndim else ""
        raise _refused(
            name,
            f"required array has ndim={declared.ndim}{inner}, array with {raw.ndim} dimensions "
            f"is provided",
        )
    element = raw.shape[raw.ndim - element_ndim :]
    if isinstance(declared.dtype, MatrixType) and not declared.dtype.admits(element):
        raise _refused(
            name,
            f"required element_shape={declared.dtype.shape}, array with element shape of {element} "
            "is provided",
        )
    if want is not None and resolve(want) != dtype:
        raise _refused(
            name, f"required array has dtype={resolve(want)}, array with dtype={dtype} is provided"
        )
    return dtype, element


def frontend_argument(param: Parameter, value: Any, config: Config) -> Argument:
    """How the frontend sees an argument."""
    if param.kind == TEMPLATE:
        if isinstance(value, Ndarray):
            raise TaichiRuntimeTypeError(
                "Ndarray shouldn't be passed in via `ti.template()`, please annotate your "
                f"kernel using `ti.types.ndarray(...)` instead (argument {param.name})"
            )
        return ConstantArgument(value)
    if param.kind == NDARRAY:
        return describe_array(value, param)
    if param.kind == MATRIX:
        return MatrixArgument(scalar_dtype(param, config), param.annotation.shape)
    return ScalarArgument(scalar_dtype(param, config))


def key_of(param: Parameter, value: Any) -> Any:
    """What of an argument decides which compiled kernel is used."""
    if param.kind == TEMPLATE:
        if isinstance(value, bool | int | float | str | bytes):
            return type(value), value
        if isinstance(value, Matrix):
            return tuple(value.entries)
        return id(value)
    return describe_array(value, param) if param.kind == NDARRAY else None


def matrix_entries(value: Any, param: Parameter, dtype: DataType) -> list[Any]:
    """The entries of a matrix argument. Raises TaichiRuntimeTypeError for another shape."""
    rows = value.rows_list() if isinstance(value, Matrix) else value
    array = np.asarray(
        rows, object if isinstance(rows, list | tuple) else None
    )  # else wide integers become floats
    if array.shape != param.annotation.shape:
        raise TaichiRuntimeTypeError(
            f"Argument {param.name}: shape {array.shape} for a value of shape "
            f"{param.annotation.shape}"
        )
    return [convert_scalar(entry, dtype, param.name) for entry in array.reshape(-1).tolist()]
