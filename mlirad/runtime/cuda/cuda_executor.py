"""Kernels on an NVIDIA GPU."""

from __future__ import annotations

from collections.abc import Mapping

from mlirad.ir.memory.pages import is_paged
from mlirad.ir.signature import FieldAddress
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.gpu import PAGED_FROM, cuda_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.cuda.cuda_driver import CudaDriver, cuda_driver
from mlirad.runtime.cuda.host_code import (
    kernel_masks,
    kernel_places,
    kernel_titles,
    lower_host_code,
)
from mlirad.runtime.cuda.host_function import HostFunction
from mlirad.runtime.cuda.kept_ptx import ptx
from mlirad.runtime.cuda.report import Report
from mlirad.runtime.cuda.sequences.event_timer import EventTimer
from mlirad.runtime.cuda.sequences.known_kernels import KnownKernels
from mlirad.runtime.cuda.shims import shims
from mlirad.runtime.device.compiled_services import CompiledServices
from mlirad.runtime.device.copy_rate import copy_rate
from mlirad.runtime.device.launch_space import DeviceLaunchSpace
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, LaunchTimer, LoweredKernel
from mlirad.runtime.memory.device.device_memory import DeviceMemory
from mlirad.runtime.native.engine import engine_of

_HOST_OPT_LEVEL = 1  # a row of calls


class CudaKernel(CompiledKernel):
    """A kernel's GPU code, and the machine code that launches it."""

    def __init__(
        self, lowered: LoweredKernel, memory: LaunchMemory, device: DeviceMemory, driver: CudaDriver
    ) -> None:
        report, kernels = Report(), KnownKernels()
        module, chip = lowered.module.operation, driver.connection.chip
        places, titles = kernel_places(module), kernel_titles(module)
        text = ptx(module, chip, lowered.code)
        kernels.masks = kernel_masks(module)
        lower_host_code(module, chip, text, shims(driver.connection, report, kernels))
        engine = engine_of(lowered.module, opt_level=_HOST_OPT_LEVEL)
        function = HostFunction(engine, lowered.name, driver, report, places, kernels)
        for label in (parameter.label for parameter in lowered.signature):
            if isinstance(label, FieldAddress):
                address = memory.field(label.symbol).address
                assert is_paged(address) == label.is_paged, f"pages of '{label.symbol}'"
        super().__init__(lowered, function, memory, DeviceLaunchSpace(device), engine)
        self._kernels, self._titles = kernels, titles

    def loop_names(self) -> Mapping[int, str]:
        """Return the names of loops: those that programs give, otherwise lines."""
        handles = self._kernels.handles
        return {handle: self._titles[name] for handle, name in handles.items()}


class CudaExecutor(Executor):
    """An NVIDIA GPU. Raises UnavailableError where there is none."""

    is_synchronous = False

    def __init__(self, driver: CudaDriver | None = None, *, paged_from: int = PAGED_FROM) -> None:
        self.driver = cuda_driver() if driver is None else driver
        self.paged_from = paged_from if self.driver.addresses else None
        self.memory: DeviceMemory = DeviceMemory(
            self.driver, CompiledServices(self), paged_from=self.paged_from
        )

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        """The pipeline to the `nvvm` dialect, and the host's launches."""
        return cuda_stages(
            mode,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            keeps=keeps,
            paged_from=self.paged_from,
        )

    def compile(self, lowered: LoweredKernel, memory: LaunchMemory, config: Config) -> CudaKernel:
        """PTX, loaded, and machine code."""
        return CudaKernel(lowered, memory, self.memory, self.driver)

    def timer(self) -> LaunchTimer | None:
        """Events of the driver, where it has them."""
        connection = self.driver.connection
        return EventTimer(connection) if connection.functions.has_events else None

    def copy_rate(self) -> float | None:
        """See `Executor.copy_rate`."""
        return copy_rate(self.driver)

    def begin_sequence(self) -> None:
        """See `Executor.begin_sequence`."""
        self.driver.connection.begin_sequence()

    def end_sequence(self) -> None:
        """See `Executor.end_sequence`."""
        self.driver.connection.end_sequence()

    def synchronize(self) -> None:
        """Wait for the stream."""
        self.driver.synchronize()
