"""The kernels of a GPU, run by the CPU: blocks and threads are loops."""

from __future__ import annotations

import ctypes

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.gpu import simt_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, Located, Lowered
from mlirad.runtime.executor.frame import LaunchRoom
from mlirad.runtime.memory.host import HostAllocation, HostMemory

RUBBISH = 0x55  # what memory that nobody cleared holds


class SimtRoom(LaunchRoom):
    """Memory of launches, which have ended when they return."""

    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        """Zeroed words."""
        return (ctypes.c_int64 * count)()

    def scratch(self, size: int) -> Located:
        """Bytes that hold something."""
        found = HostAllocation(size)
        found.data.fill(RUBBISH)
        return found

    def wait(self) -> None:
        """Nothing runs."""


class SimtExecutor(Executor):
    """A GPU that this machine's CPU stands for."""

    def __init__(self) -> None:
        self.memory = HostMemory()

    def stages(self, mode: Mode, config: Config) -> list[Stage]:
        """The pipeline to machine code of all threads, one after the other."""
        return simt_stages(
            mode,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            order=config.simt_order,
        )

    def compile(self, lowered: Lowered, memory: LaunchMemory, config: Config) -> CompiledKernel:
        """Machine code."""
        return CompiledKernel(lowered, memory, SimtRoom(), opt_level=config.opt_level)
