"""Arrays of other libraries on the program's device: torch's CUDA tensors, and what speaks DLPack
or has a CUDA array interface. They are passed as they are."""

from __future__ import annotations

import sys
from math import prod
from typing import Any, TypeGuard

import msgspec
import numpy as np

from mlirad.errors import TaichiRuntimeTypeError
from mlirad.lang.arguments.dlpack import read_dlpack
from mlirad.lang.host.array_protocols import AsArray
from mlirad.runtime.memory.memory import DType, Elements, Memory
from mlirad.runtime.memory.values import Values

_CPU = 1  # DLPack's kDLCPU
COPY = "an object that exports a different buffer each time"
_SHOWN = {1: "cpu", 2: "cuda"}


class ForeignArray(msgspec.Struct, frozen=True):
    """Elements side by side on the program's device, in memory that `owner` keeps."""

    address: int
    shape: tuple[int, ...]
    dtype: DType
    owner: object
    memory: Memory
    is_read_only: bool = False
    is_copy: bool = False  # of what its library has: the user would not see what is written

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def elements(self) -> Elements:
        """The elements, at their place in memory."""
        elements = self.memory.elements_at(self.address, self.dtype, self.shape, self.owner)
        assert elements is not None, "memory that is no longer on the device"
        return elements

    def read(self) -> Values:
        """A copy on the host."""
        return self.elements().read()


def is_torch(value: object) -> TypeGuard[Any]:
    """Return whether this is a tensor of torch, which is not imported for that."""
    for kind in type(value).__mro__:
        if kind.__name__ == "Tensor" and kind.__module__ == "torch":
            return True
    return False


def is_array(value: object) -> bool:
    """Return whether this is an array of NumPy, or of a library that hands its arrays over. A field
    is none: of a view of it, its gradient would not be known."""
    if isinstance(value, AsArray):
        return False
    return (
        isinstance(value, np.ndarray)
        or is_torch(value)
        or hasattr(value, "__dlpack__")
        or hasattr(value, "__cuda_array_interface__")
    )


def is_on_device(value: object) -> bool:
    """Return whether this is an array of another library that is not on the host."""
    if isinstance(value, np.ndarray):
        return False
    if is_torch(value):
        return bool(value.device.type != "cpu")
    if hasattr(value, "__dlpack_device__"):
        try:
            return int(value.__dlpack_device__()[0]) != _CPU
        except (RuntimeError, TypeError):  # it has been deleted, as is said where it is read
            return False
    return hasattr(value, "__cuda_array_interface__")


def torch_elements(tensor: Any) -> Values:
    """Return the elements of a tensor on the host, in the tensor's own memory.

    A subclass may have a `detach` that copies, and the copy would be gone before the launch: it is
    asked as torch's own class. Raises RuntimeError and TypeError as torch does.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(tensor) is torch.Tensor or not isinstance(tensor, torch.Tensor):
        plain: Values = tensor.detach().numpy()
        return plain
    with torch._C.DisableTorchFunctionSubclass():
        array: Values = torch.Tensor.numpy(torch.Tensor.detach(tensor))
        if array.size and array.ctypes.data != torch.Tensor.data_ptr(tensor):
            raise RuntimeError("its elements are not in its own memory")
    return array


def on_host(value: Any, name: str) -> Values:
    """An array of another library that is on the host, as NumPy has it. Raises
    TaichiRuntimeTypeError for types of elements that NumPy has not, and for what is no memory."""
    try:
        return torch_elements(value) if is_torch(value) else np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:  # as producers have them
        said, cure = str(error).partition("\n")[0], cure_of(str(getattr(value, "dtype", "")))
        raise TaichiRuntimeTypeError(
            f"Argument {name}: this {type(value).__name__} cannot be passed: {said}{cure}"
        ) from None


def foreign_array(value: Any, memory: Memory, name: str) -> ForeignArray:
    """An array that `is_on_device`. Raises TaichiRuntimeTypeError if that is not the program's,
    where its elements do not lie side by side, and for types of elements that we do not have."""
    if is_torch(value):
        array = _of_torch(value, memory, name)
    elif hasattr(value, "__dlpack_device__"):
        array = _of_dlpack(value, memory, name)
    else:
        array = _of_interface(value, memory, name)
    if array.nbytes and memory.elements_at(array.address, array.dtype, array.shape, None) is None:
        raise _device_error(value, "a device", memory, name)
    return array


def _of_torch(tensor: Any, memory: Memory, name: str) -> ForeignArray:
    device = str(tensor.device)
    if not memory.is_apart:
        raise _device_error(tensor, device, memory, name)
    if not tensor.is_contiguous():
        raise _scatter_error(tensor, name)
    dtype = _type(str(tensor.dtype).removeprefix("torch."), name)
    return ForeignArray(tensor.data_ptr(), tuple(tensor.shape), dtype, tensor, memory)


def _of_dlpack(value: Any, memory: Memory, name: str) -> ForeignArray:
    kind, number = (int(entry) for entry in value.__dlpack_device__())
    if (kind, number) != memory.dlpack_device:
        raise _device_error(
            value, f"{_SHOWN.get(kind, f'device type {kind}')}:{number}", memory, name
        )
    try:
        tensor = read_dlpack(value, memory.stream)
    except TypeError as error:
        raise TaichiRuntimeTypeError(f"Argument {name}: {error}") from None
    if tensor.strides is not None and not _are_packed(tensor.shape, tensor.strides, 1):
        raise _scatter_error(value, name)
    is_copy = read_dlpack(value, memory.stream).address != tensor.address
    is_read_only = tensor.is_read_only or is_copy
    owner = value, tensor.capsule
    return ForeignArray(
        tensor.address, tensor.shape, tensor.dtype, owner, memory, is_read_only, is_copy
    )


def _of_interface(value: Any, memory: Memory, name: str) -> ForeignArray:
    said = value.__cuda_array_interface__
    dtype, shape, strides = _type(said["typestr"], name), tuple(said["shape"]), said.get("strides")
    if strides is not None and not _are_packed(shape, strides, dtype.itemsize):
        raise _scatter_error(value, name)
    address, is_read_only = said["data"]
    if address != value.__cuda_array_interface__["data"][0]:  # nothing keeps it until the launch
        raise TaichiRuntimeTypeError(f"Argument {name}: this {type(value).__name__} is {COPY}")
    return ForeignArray(address or 0, shape, dtype, value, memory, bool(is_read_only))


def _are_packed(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    """Return whether elements lie side by side in the order of the axes."""
    if 0 in shape:
        return True
    expected = [step * prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return all(
        size == 1 or stride == distance for size, stride, distance in zip(shape, strides, expected)
    )


def _type(name: str, argument: str) -> DType:
    try:
        return np.dtype(name)
    except TypeError:
        raise TaichiRuntimeTypeError(
            f"Argument {argument}: arrays of {name} cannot be passed{cure_of(name)}"
        ) from None


def cure_of(dtype: str) -> str:
    """Return what to pass for elements of a type that NumPy, or we, have not; empty if that is
    not known."""
    kind = dtype.removeprefix("torch.")
    if kind.startswith(("bfloat16", "float8", "float4", "float6")):
        copy = "x.float()" if kind != dtype else "x.astype('float32')"
        return f": {copy} is a copy that holds the same numbers, and can be passed"
    if kind.startswith("complex"):
        return ": contiguous copies of x.real and x.imag can be passed"
    return ": x.astype('float64') can be passed" if kind in ("float128", "longdouble") else ""


def _scatter_error(value: object, name: str) -> TaichiRuntimeTypeError:
    return TaichiRuntimeTypeError(
        f"Argument {name}: the elements of this {type(value).__name__} do not lie side by side "
        f"(non contiguous): pass a contiguous copy"
    )


def _device_error(value: object, where: str, memory: Memory, name: str) -> TaichiRuntimeTypeError:
    kind, number = memory.dlpack_device
    expected = f"{_SHOWN.get(kind, 'simt')}:{number}" if memory.is_apart else "the CPU"
    return TaichiRuntimeTypeError(
        f"Argument {name}: this {type(value).__name__} is on {where}, and the program runs on "
        f"{expected}: pass a copy that is there, or start the program on that device by "
        "ti.init(arch=)"
    )
