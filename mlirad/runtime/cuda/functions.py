"""The functions of CUDA's driver that are called, by address: of the driver, or of what stands in
for it in a test."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_ulonglong, c_void_p
from typing import Any

from mlirad.runtime.executor.executor import UnavailableError

LIBRARY = "libcuda.so.1"
_HANDLE = c_void_p  # of a context, a stream, a module, a function
_ADDRESS = c_uint64  # on the device
_GIVES = c_void_p  # where a result goes
_INFO = [_GIVES, c_int]

# The names are those of the symbols, of which some have versions (cuda.h defines them as macros).
PARAMETERS: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [_GIVES],
    "cuGetErrorName": [c_int, _GIVES],
    "cuGetErrorString": [c_int, _GIVES],
    "cuDeviceGetCount": [_GIVES],
    "cuDeviceGet": _INFO,
    "cuDeviceGetName": [_GIVES, c_int, c_int],
    "cuDeviceGetAttribute": [_GIVES, c_int, c_int],
    "cuDevicePrimaryCtxRetain": _INFO,
    "cuCtxGetCurrent": [_GIVES],
    "cuCtxSetCurrent": [_HANDLE],
    "cuCtxPushCurrent_v2": [_HANDLE],
    "cuCtxPopCurrent_v2": [_GIVES],
    "cuStreamCreate": [_GIVES, c_uint],
    "cuStreamSynchronize": [_HANDLE],
    "cuMemGetInfo_v2": [_GIVES, _GIVES],
    "cuMemAlloc_v2": [_GIVES, c_size_t],
    "cuMemFree_v2": [_ADDRESS],
    "cuMemAllocAsync": [_GIVES, c_size_t, _HANDLE],
    "cuMemFreeAsync": [_ADDRESS, _HANDLE],
    "cuDeviceGetDefaultMemPool": _INFO,
    "cuMemPoolSetAttribute": [_HANDLE, c_int, c_void_p],
    "cuMemPoolTrimTo": [_HANDLE, c_size_t],
    "cuMemHostAlloc": [_GIVES, c_size_t, c_uint],
    "cuMemFreeHost": [c_void_p],
    "cuMemcpyHtoDAsync_v2": [_ADDRESS, c_void_p, c_size_t, _HANDLE],
    "cuMemcpyDtoHAsync_v2": [c_void_p, _ADDRESS, c_size_t, _HANDLE],
    "cuMemcpyDtoDAsync_v2": [_ADDRESS, _ADDRESS, c_size_t, _HANDLE],
    "cuMemsetD8Async": [_ADDRESS, c_ubyte, c_size_t, _HANDLE],
    "cuMemGetAllocationGranularity": [_GIVES, c_void_p, c_int],
    "cuMemAddressReserve": [_GIVES, c_size_t, c_size_t, _ADDRESS, c_ulonglong],
    "cuMemAddressFree": [_ADDRESS, c_size_t],
    "cuMemCreate": [_GIVES, c_size_t, c_void_p, c_ulonglong],
    "cuMemRelease": [c_uint64],
    "cuMemMap": [_ADDRESS, c_size_t, c_size_t, c_uint64, c_ulonglong],
    "cuMemSetAccess": [_ADDRESS, c_size_t, c_void_p, c_size_t],
    "cuMemUnmap": [_ADDRESS, c_size_t],
    "cuPointerGetAttribute": [_GIVES, c_int, _ADDRESS],
    "cuModuleLoadDataEx": [_GIVES, c_void_p, c_uint, _GIVES, _GIVES],
    "cuModuleUnload": [_HANDLE],
    "cuModuleGetFunction": [_GIVES, _HANDLE, c_char_p],
    "cuFuncGetAttribute": [_GIVES, c_int, _HANDLE],
    "cuLaunchKernel": [_HANDLE, *[c_uint] * 7, _HANDLE, c_void_p, c_void_p],
}
# What older drivers lack.
GRAPHS: dict[str, list[Any]] = {
    "cuGraphCreate": [_GIVES, c_uint],
    "cuGraphAddKernelNode_v2": [_GIVES, _HANDLE, c_void_p, c_size_t, c_void_p],
    "cuGraphInstantiateWithFlags": [_GIVES, _HANDLE, c_ulonglong],
    "cuGraphExecKernelNodeSetParams_v2": [_HANDLE, _HANDLE, c_void_p],
    "cuGraphLaunch": [_HANDLE, _HANDLE],
    "cuGraphExecDestroy": [_HANDLE],
    "cuGraphDestroy": [_HANDLE],
}
# What times launches.
EVENTS: dict[str, list[Any]] = {
    "cuEventCreate": [_GIVES, c_uint],
    "cuEventRecord": [_HANDLE, _HANDLE],
    "cuEventElapsedTime_v2": [_GIVES, _HANDLE, _HANDLE],
}


class Functions:
    """Every function of `PARAMETERS`, and of what the driver has of the others, to be called from
    Python, and its address for compiled code."""

    owner: object = None  # of the code at the addresses, if it is not a library

    def __init__(self, addresses: Mapping[str, int]) -> None:
        self.addresses = dict(addresses)
        self._callable: dict[str, Callable[..., int]] = {
            name: ctypes.CFUNCTYPE(c_int, *parameters)(addresses[name])
            for name, parameters in (PARAMETERS | GRAPHS | EVENTS).items()
            if name in PARAMETERS or name in addresses
        }

    @property
    def has_graphs(self) -> bool:
        """Return whether the driver makes graphs of launches."""
        return self.addresses.keys() >= GRAPHS.keys()

    @property
    def has_events(self) -> bool:
        """Return whether the driver times launches."""
        return self.addresses.keys() >= EVENTS.keys()

    def __getitem__(self, name: str) -> Callable[..., int]:
        return self._callable[name]

    def describe(self, result: int) -> str:
        """The driver's name of a result, and what it says of it."""
        found = [self._text(name, result) for name in ("cuGetErrorName", "cuGetErrorString")]
        return f"{found[0] or f'CUresult {result}'} ({found[1] or 'unknown to this driver'})"

    def _text(self, name: str, result: int) -> str:
        text = c_char_p()
        self[name](result, ctypes.byref(text))
        return (text.value or b"").decode(errors="replace")


def driver_functions(library: str = LIBRARY) -> Functions:
    """Return the functions of the installed driver. Raises UnavailableError where there is none, or
    one that lacks some of them."""
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        raise UnavailableError(f"no NVIDIA driver is installed ({error})") from None
    missing = [name for name in PARAMETERS if not hasattr(loaded, name)]
    if missing:
        raise UnavailableError(f"the driver is too old: {library} has no {', '.join(missing[:3])}")
    return Functions(
        {
            name: ctypes.cast(getattr(loaded, name), c_void_p).value or 0
            for name in PARAMETERS | GRAPHS | EVENTS
            if hasattr(loaded, name)
        }
    )
