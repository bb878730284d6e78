"""A device whose launches the CPU's code does: what lies on it, Python only reaches by its
driver."""

from __future__ import annotations

from mlirad.runtime.executor.cpu import CpuExecutor
from mlirad.runtime.memory.device import DeviceMemory
from mlirad.runtime.memory.services import Services
from mlirad.runtime.memory.transfers import SMALL
from mlirad.runtime.simt.driver import SimtDriver


class DeviceExecutor(CpuExecutor):
    """The CPU with the memory of a device."""

    def __init__(self, *, small: int = SMALL, total: int | None = None) -> None:
        self.driver = SimtDriver(total)
        self.memory = DeviceMemory(self.driver, Services(self), small=small)
