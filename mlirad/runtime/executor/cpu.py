"""Compile a lowered module for this machine's CPU, and call it."""

from __future__ import annotations

import ctypes

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.cpu import LaneWidth, cpu_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, Located, Lowered
from mlirad.runtime.executor.frame import LaunchRoom
from mlirad.runtime.executor.openmp import openmp_library, wait_briefly
from mlirad.runtime.executor.processor import has_fused_multiply_add, vector_bytes, vector_library
from mlirad.runtime.memory.host import HostAllocation, HostMemory
from mlirad.runtime.native.machine_code import machine_code


def _lanes(config: Config) -> LaneWidth:
    if config.lanes is None:
        return LaneWidth(vector_bytes() // 4)
    return LaneWidth(config.lanes, everywhere=True)


class HostRoom(LaunchRoom):
    """Python's memory, for launches that have ended when they return."""

    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        """Zeroed words."""
        return (ctypes.c_int64 * count)()

    def scratch(self, size: int) -> Located:
        """Zeroed bytes."""
        return HostAllocation(size)

    def wait(self) -> None:
        """Nothing runs."""


class CpuExecutor(Executor):
    """This machine's CPU."""

    def __init__(self) -> None:
        self.memory = HostMemory()

    def stages(self, mode: Mode, config: Config) -> list[Stage]:
        """The pipeline to machine code."""
        return cpu_stages(
            mode,
            threads=config.cpu_max_num_threads,
            worth=config.thread_worth,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            fused=has_fused_multiply_add(),
            library=vector_library(),
            lanes=_lanes(config),
            width=vector_bytes(),
        )

    def compile(self, lowered: Lowered, memory: LaunchMemory, config: Config) -> CompiledKernel:
        """Machine code."""
        libraries = [openmp_library()] if config.cpu_max_num_threads > 1 else []
        if libraries:
            wait_briefly()
        made = machine_code(lowered, opt_level=config.opt_level, libraries=libraries)
        return CompiledKernel(lowered, made.function, memory, HostRoom(), made.owner)

    def synchronize(self) -> None:
        """Launches have ended when they return."""
