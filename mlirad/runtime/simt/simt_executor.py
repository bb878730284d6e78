"""The kernels of a GPU, run by the CPU: blocks and threads are loops."""

from __future__ import annotations

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.gpu import simt_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.device.compiled_services import CompiledServices
from mlirad.runtime.device.launch_space import DeviceLaunchSpace
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, LoweredKernel
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.native.machine_code import machine_code
from mlirad.runtime.simt.simt_driver import SimtDriver


class SimtExecutor(Executor):
    """A GPU that this machine's CPU stands for."""

    def __init__(self) -> None:
        self.driver = SimtDriver()
        self.memory: DeviceMemory = DeviceMemory(self.driver, CompiledServices(self))

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        return simt_stages(
            mode,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            keeps=keeps,
            order=config.simt_order,
            debug_info=config.debug_info,
        )

    def compile(
        self, lowered: LoweredKernel, memory: LaunchMemory, config: Config
    ) -> CompiledKernel:
        code = machine_code(lowered, opt_level=config.opt_level, debug_info=config.debug_info)
        return CompiledKernel(
            lowered, code.function, memory, DeviceLaunchSpace(self.memory), code.owner
        )

    def synchronize(self) -> None:
        """Launches have ended when they return."""
