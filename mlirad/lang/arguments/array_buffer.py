"""Arrays as arguments of a launch: where they are, and how large."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from ctypes import addressof, c_char
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from mlirad.errors import TaichiRuntimeError, TaichiRuntimeTypeError
from mlirad.lang.arguments.foreign_array import (
    COPY,
    ForeignArray,
    foreign_array,
    is_on_device,
    is_torch,
    on_host,
    torch_elements,
)
from mlirad.lang.host.host_values import check_unmasked
from mlirad.lang.ndarray import Ndarray
from mlirad.runtime.memory.memory import Allocation, DType, Elements
from mlirad.runtime.memory.values import Values
from mlirad.runtime.program import program


class ArrayBuffer(msgspec.Struct):
    """An array argument as a launch needs it: where it is, and how large. Nobody changes one; it is
    not frozen because every launch makes one an array, which then takes three times as long.

    Of an array that is not contiguous a copy is passed; `back` writes it to the `original_view`.
    """

    address: int
    dims: tuple[int, ...]
    grad: ArrayBuffer | None
    owner: Any
    back: Callable[[], None] | None = None
    original_view: Values | None = None
    name: str = ""  # of the parameter
    is_mirror: bool = False  # a tape's copy of the array that was given
    is_read_only: bool = False
    description: str = "a read-only array"  # where it is read-only

    def elements(self) -> Elements:
        """The elements: of our memory, or of the user's."""
        if isinstance(self.owner, Ndarray):
            return self.owner.elements
        if isinstance(self.owner, ForeignArray):
            return self.owner.elements()
        return program().executor.memory.wrap(self.array())

    @property
    def host(self) -> Values | None:
        """The array of Python's that is passed; None for memory of the program's machine."""
        return None if isinstance(self.owner, Ndarray | ForeignArray) else self.array()

    def adjoint(self) -> ArrayBuffer:
        """The gradient. Raises TaichiRuntimeError if there is none."""
        if self.grad is None:
            raise TaichiRuntimeError("an array argument that has no gradient, in a reverse launch")
        return self.grad

    def tangent(self, number: int) -> ArrayBuffer:
        """The tangents in one direction. Raises TaichiRuntimeError for an array that is no ndarray
        of ours."""
        if not isinstance(self.owner, Ndarray):
            raise TaichiRuntimeError(
                f"a {type(self.owner).__name__} has no tangents: forward mode takes ti.ndarray"
            )
        return array_buffer(self.owner.tangent(number), "", False)

    def array(self) -> Values:
        """The array that is passed, of the user's or a copy of it; of one on a device, what it
        holds now."""
        if isinstance(self.owner, ForeignArray):
            return self.owner.read()
        values: Values = (
            self.owner if isinstance(self.owner, np.ndarray) else torch_elements(self.owner)
        )
        return values

    def original(self) -> Values:
        """The original array, which may not be contiguous."""
        return self.array() if self.original_view is None else self.original_view

    def original_elements(self) -> Elements:
        """The elements of the original array."""
        if isinstance(self.owner, ForeignArray):
            return self.owner.elements()
        return program().executor.memory.wrap(self.original())

    @property
    def dtype(self) -> DType:
        """The type of the elements, as NumPy has it."""
        owner = self.owner
        if isinstance(owner, Ndarray):
            return owner.elements.dtype
        is_known = isinstance(owner, np.ndarray | ForeignArray)
        return owner.dtype if is_known else self.array().dtype

    @property
    def nbytes(self) -> int:
        owner = self.owner
        if isinstance(owner, np.ndarray | ForeignArray):
            return owner.nbytes
        return owner.elements.nbytes if isinstance(owner, Ndarray) else self.array().nbytes

    @property
    def is_ours(self) -> bool:
        """Return whether this is a `ti.ndarray`: what Python writes there is seen."""
        return isinstance(self.owner, Ndarray) and not self.is_mirror

    def without_copy(self) -> ArrayBuffer:
        """Drop the copy of an array that is not contiguous; see `renew`."""
        return (
            self if self.original_view is None else replace(self, address=0, owner=None, back=None)
        )

    def renew(self) -> ArrayBuffer:
        """Copy an array that is not contiguous again, as it is now."""
        return (
            self
            if self.original_view is None
            else array_buffer(self.original_view, self.name, False)
        )


def write_back(buffers: Sequence[ArrayBuffer], written: Callable[[], Container[int]]) -> None:
    """Let arrays that are not contiguous have what a launch wrote to their copies; `written` gives
    the positions of those that it writes to."""
    for position, buffer in enumerate(buffers):
        if buffer.back is not None and position in written():
            buffer.back()


def array_buffer(value: object, name: str, with_grad: bool) -> ArrayBuffer:
    """The memory of an array argument. Raises TaichiRuntimeTypeError for what is not an array."""
    if isinstance(value, np.ndarray):
        return _numpy_buffer(value, name)
    if isinstance(value, Ndarray):
        if value.program is not program():
            raise TaichiRuntimeError(
                f"Argument {name}: the ndarray belongs to a program that ti.init() or ti.reset() "
                f"ended"
            )
        return ndarray_buffer(value, name, with_grad)
    if is_on_device(value):
        return _device_buffer(value, name, with_grad)
    if is_torch(value):
        return _torch_buffer(value, name, with_grad)
    if hasattr(value, "__dlpack__"):
        return _dlpack_buffer(value, name)
    raise TaichiRuntimeTypeError(f"Argument {name}: expected an array, got {type(value).__name__}")


def ndarray_buffer(array: Ndarray, name: str, with_grad: bool) -> ArrayBuffer:
    """The memory of an ndarray of the present program."""
    gradient = array.grad if with_grad else None
    if gradient is None:
        return ArrayBuffer(array.address, array.dims, None, array, name=name)
    grad = ArrayBuffer(gradient.address, gradient.dims, None, gradient, name=name)
    return ArrayBuffer(array.address, array.dims, grad, array, name=name)


def _numpy_buffer(value: Values, name: str) -> ArrayBuffer:
    if type(value) is np.ndarray and value.size:
        try:  # which takes a third of the time of `value.ctypes`
            address = addressof(c_char.from_buffer(value))  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass  # read-only, with gaps, or of a type of NumPy's own
        else:
            return ArrayBuffer(address, value.shape, None, value, name=name)
    if type(value) is not np.ndarray:
        check_unmasked(value, f"argument {name}")
    is_read_only = not value.flags.writeable
    if value.flags.c_contiguous:
        return ArrayBuffer(
            value.ctypes.data, value.shape, None, value, name=name, is_read_only=is_read_only
        )
    copy = np.ascontiguousarray(value)

    def back() -> None:
        value[...] = copy

    buffer = ArrayBuffer(
        copy.ctypes.data, copy.shape, None, copy, back, value, name, is_read_only=is_read_only
    )
    if is_read_only or not _overlaps_itself(value):
        return buffer
    description = "an array whose elements overlap in memory"
    return replace(buffer, is_read_only=True, description=description)


def _dlpack_buffer(value: object, name: str) -> ArrayBuffer:
    """Return the buffer of a DLPack array; one that its library passes as a copy is read-only,
    because writes would be lost."""
    array = on_host(value, name)
    buffer = _numpy_buffer(array, name)
    if type(value).__module__.startswith("jax"):
        return replace(buffer, description="a JAX array, which is immutable")
    if not buffer.is_read_only and on_host(value, name).ctypes.data != array.ctypes.data:
        return replace(buffer, is_read_only=True, description=COPY)
    return buffer


def _overlaps_itself(values: Values) -> bool:
    """Return whether elements share memory, as those of an axis of stride 0."""
    axes = [(abs(s), n) for s, n in zip(values.strides, values.shape) if n > 1]
    reach = values.itemsize  # of the bytes of all elements along the axes so far
    for stride, extent in sorted(axes):
        if stride < reach:
            places = np.zeros(1, np.int64)
            for step, count in axes:
                places = np.add.outer(places, step * np.arange(count)).reshape(-1)
            return bool(np.diff(np.sort(places)).min(initial=reach) < values.itemsize)
        reach += stride * (extent - 1)
    return False


def _torch_buffer(tensor: Any, name: str, with_grad: bool) -> ArrayBuffer:
    array = on_host(tensor, name)
    if not array.flags.c_contiguous:
        raise TaichiRuntimeTypeError(
            f"Argument {name}: non contiguous tensors are not supported, "
            "call tensor.contiguous() first"
        )
    grad = _torch_gradient(tensor, name) if with_grad and tensor.requires_grad else None
    is_read_only = not array.flags.writeable
    return ArrayBuffer(
        array.ctypes.data, array.shape, grad, tensor, name=name, is_read_only=is_read_only
    )


def _torch_gradient(tensor: Any, name: str) -> ArrayBuffer:
    """A tensor's gradient, which a launch may write to: a sparse one, one with gaps, and one of
    which several elements lie in one place (of an expanded sum) becomes a tensor of its own."""
    if tensor.grad is None:
        tensor.grad = tensor.data.clone().zero_()
    elif tensor.grad.is_sparse or not tensor.grad.is_contiguous():
        tensor.grad = tensor.grad.to_dense().contiguous()
    return array_buffer(tensor.grad, name, False)


def _device_buffer(value: object, name: str, with_grad: bool) -> ArrayBuffer:
    """An array of another library on the program's device."""
    array = foreign_array(value, program().executor.memory, name)
    grad = None
    if with_grad and is_torch(value) and value.requires_grad:
        grad = _torch_gradient(value, name)
    buffer = ArrayBuffer(
        array.address, array.shape, grad, array, name=name, is_read_only=array.is_read_only
    )
    return replace(buffer, description=COPY) if array.is_copy else buffer


def allocations(buffers: Sequence[ArrayBuffer]) -> dict[str, Allocation]:
    """The memory of the ndarrays, and of their gradients, that a launch is passed, by name."""
    memory = {}
    for buffer in buffers:
        if isinstance(buffer.owner, Ndarray):
            memory[buffer.name] = buffer.owner.allocation
            if buffer.owner.grad is not None:
                memory[f"{buffer.name}.grad"] = buffer.owner.grad.allocation
    return memory
