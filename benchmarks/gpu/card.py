"""What a card could do at best: how fast its memory copies, as the driver's own copy shows, and how
many instructions it issues."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

import mlirad as ti
from mlirad.runtime.cuda.constants import CUdevice_attribute
from mlirad.runtime.cuda.cuda_driver import CudaDriver
from mlirad.runtime.device.copy_rate import copy_seconds
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.memory.device.driver import Driver
from mlirad.runtime.program import program

LANES = 128  # f32 instructions that a multiprocessor issues in a cycle, since sm_86
REPEATS = 10


@dataclass(frozen=True)
class Card:
    """A name, bytes per second that a copy reads and writes together, and f32 instructions per
    second."""

    name: str
    bandwidth: float
    instructions: float


def find_card(arch: str, size: int) -> Card:
    """The card of an architecture, by copies of `size` bytes. Raises TaichiRuntimeError where there
    is none."""
    ti.init(arch=arch, enable_fallback=False)
    memory = program().executor.memory
    assert isinstance(memory, DeviceMemory)
    driver = memory.driver
    seconds = _copy_seconds(driver, size)
    name, instructions = _facts(driver)
    ti.reset()
    return Card(name, 2 * size / seconds, instructions)


def _copy_seconds(driver: Driver, size: int) -> float:
    source, target = driver.allocate(size), driver.allocate(size)
    seconds = copy_seconds(driver, target, source, size, REPEATS)
    for address in (source, target):
        driver.free(address)
    return seconds


def _facts(driver: Driver) -> tuple[str, float]:
    """The name, and f32 instructions per second: as many as one likes where there is no GPU."""
    if not isinstance(driver, CudaDriver):
        return type(driver).__name__, math.inf
    connection = driver.connection

    def attribute(which: CUdevice_attribute) -> int:
        found = ctypes.c_int()
        connection.ask(
            "describe itself",
            "cuDeviceGetAttribute",
            ctypes.byref(found),
            which,
            connection.card.number,
        )
        return found.value

    kilohertz = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
    count = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    return connection.card.name, count * LANES * kilohertz * 1e3
