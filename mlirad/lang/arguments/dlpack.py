"""Arrays that other libraries hand over by DLPack: where they are, without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import msgspec
import numpy as np

_VERSION = 1, 0  # of DLPack, from which on an array says that it is read-only
_READ_ONLY = 1
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


class _Tensor(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _VersionedTensor(ctypes.Structure):
    """DLPack's `DLManagedTensorVersioned`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class DLPackArray(msgspec.Struct, frozen=True):
    """An array of another library. `strides` count elements; None if they lie side by side."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    is_read_only: bool
    capsule: object  # which keeps it


def read_dlpack(value: Any, stream: int | None) -> DLPackArray:
    """Return an array's own description; what its library does to it comes before what we do in a
    stream. Raises TypeError for elements that NumPy has no type for."""
    try:
        capsule = value.__dlpack__(stream=stream, max_version=_VERSION)
    except TypeError:  # it is older
        capsule = value.__dlpack__(stream=stream)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    called = name(capsule)
    address, is_read_only = pointer(capsule, called), False
    if called == b"dltensor_versioned":
        versioned = _VersionedTensor.from_address(address)
        tensor, is_read_only = versioned.tensor, bool(versioned.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(address)
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(
            f"DLPack elements of type code {tensor.code} with {tensor.bits} bits are not supported"
        )
    rank = range(tensor.ndim)
    return DLPackArray(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[axis] for axis in rank),
        tuple(tensor.strides[axis] for axis in rank) if tensor.strides else None,
        np.dtype(f"{kind}{tensor.bits // 8}"),
        is_read_only,
        capsule,
    )
