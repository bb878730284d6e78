"""The GPU that a program runs on, as its driver describes it."""

from __future__ import annotations

import ctypes
from typing import Any

import msgspec

from mlirad.pipeline.ptx import CHIPS
from mlirad.runtime.cuda.constants import CUdevice_attribute, CUresult
from mlirad.runtime.cuda.functions import Functions
from mlirad.runtime.executor.executor import UnavailableError

OLDEST_DRIVER = 11020  # memory in the order of a stream
_NAME_SIZE = 256


class Card(msgspec.Struct, frozen=True):
    """A device, and its primary context, which other libraries of the process use too."""

    number: int
    name: str
    capability: tuple[int, int]
    has_pools: bool  # memory in the order of a stream
    has_addresses: bool  # that are reserved without memory
    context: int
    driver: str  # what CUDA it is for


def first_card(functions: Functions) -> Card:
    """The first device that the driver shows (`CUDA_VISIBLE_DEVICES` chooses). Raises
    UnavailableError where there is none that can be used, and says why."""
    _ask(functions, "start", "cuInit", 0)
    version = _number(functions, "cuDriverGetVersion")
    if version < OLDEST_DRIVER:
        raise UnavailableError(
            f"the driver supports CUDA {_version(version)}, expected CUDA "
            f"{_version(OLDEST_DRIVER)} or newer"
        )
    if _number(functions, "cuDeviceGetCount") == 0:
        raise UnavailableError("the driver finds no GPU")
    device = _number(functions, "cuDeviceGet", 0)
    name = ctypes.create_string_buffer(_NAME_SIZE)
    _ask(functions, "name the GPU", "cuDeviceGetName", name, _NAME_SIZE, device)

    def attribute(which: CUdevice_attribute) -> int:
        return _number(functions, "cuDeviceGetAttribute", which, device)

    if not attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING):
        raise UnavailableError(
            f"{_text(name)} does not support unified addressing, which mlirad needs"
        )
    context = ctypes.c_void_p()
    _ask(
        functions,
        "make a context",
        "cuDevicePrimaryCtxRetain",
        ctypes.byref(context),
        device,
    )
    return Card(
        device,
        _text(name),
        (
            attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ),
        bool(attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)),
        bool(attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)),
        context.value or 0,
        f"a driver for CUDA {_version(version)}",
    )


def chip_of(card: Card) -> str:
    """The newest chip that there is PTX for which a card runs: what is for a chip runs on every
    later one. Raises UnavailableError for a card that is older than all."""
    numbers = [int(name.removeprefix("sm_")) for name in CHIPS if name[-1].isdigit()]
    major, minor = card.capability
    known = [number for number in numbers if number <= 10 * major + minor]
    if not known:
        raise UnavailableError(
            f"{card.name} has compute capability {major}.{minor}, expected "
            f"{min(numbers) // 10}.{min(numbers) % 10} or more"
        )
    return f"sm_{max(known)}"


def _ask(functions: Functions, what: str, name: str, *arguments: Any) -> None:
    result = functions[name](*arguments)
    if result == CUresult.CUDA_ERROR_NO_DEVICE:
        raise UnavailableError("the driver finds no GPU")
    if result:
        raise UnavailableError(f"the driver cannot {what}: {functions.describe(result)}")


def _number(functions: Functions, name: str, *arguments: int) -> int:
    found = ctypes.c_int()
    _ask(functions, f"answer {name}", name, ctypes.byref(found), *arguments)
    return found.value


def _text(buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.value.decode(errors="replace")


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
