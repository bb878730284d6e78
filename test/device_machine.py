"""A device whose launches the CPU's code does: what lies on it, Python only reaches by its
driver."""

from __future__ import annotations

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.cpu.cpu_executor import CpuExecutor
from mlirad.runtime.device.compiled_services import CompiledServices
from mlirad.runtime.device.launch_space import DeviceLaunchSpace
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, LoweredKernel
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.memory.device.transfers import SMALL
from mlirad.runtime.native.machine_code import machine_code
from mlirad.runtime.simt.simt_driver import SimtDriver


class DeviceCpu(Executor):
    """The CPU's code on the memory of a device, on one thread."""

    def __init__(self, *, small: int = SMALL, total: int | None = None) -> None:
        self.driver, self._cpu = SimtDriver(total), CpuExecutor()
        self.memory: DeviceMemory = DeviceMemory(self.driver, CompiledServices(self), small=small)

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        config.cpu_max_num_threads = 1
        return self._cpu.stages(mode, config, keeps=keeps)

    def compile(
        self, lowered: LoweredKernel, memory: LaunchMemory, config: Config
    ) -> CompiledKernel:
        made = machine_code(lowered, opt_level=config.opt_level)
        return CompiledKernel(
            lowered, made.function, memory, DeviceLaunchSpace(self.memory), made.owner
        )

    def synchronize(self) -> None:
        self.driver.synchronize()
