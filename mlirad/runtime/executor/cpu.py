"""Compile a lowered module for this machine's CPU, and call it."""

from __future__ import annotations

import ctypes
import ctypes.util
import sysconfig
from functools import cache
from pathlib import Path

from mlirad.errors import TaichiRuntimeError
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.cpu import LaneWidth, cpu_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import Executor, LaunchMemory, Located, Lowered
from mlirad.runtime.executor.frame import LaunchRoom
from mlirad.runtime.executor.processor import has_fused_multiply_add, vector_bytes, vector_library
from mlirad.runtime.memory.host import HostAllocation, HostMemory
from mlirad.runtime.native.machine_code import machine_code


@cache
def openmp_library() -> str:
    """The path of an OpenMP runtime. Raises TaichiRuntimeError where there is none."""
    for folder in (
        Path(sysconfig.get_path("data")) / "lib",
        Path(sysconfig.get_path("platlib")).parents[2] / "lib",
    ):
        for name in ("libiomp5.so", "libomp.so"):
            if (folder / name).exists():
                return str(folder / name)
    for library in ("iomp5", "omp", "omp5"):
        found = ctypes.util.find_library(library)
        if found:
            return found
    raise TaichiRuntimeError(
        "no OpenMP runtime found: install 'intel-openmp', or use ti.init(cpu_max_num_threads=1)"
    )


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
        made = machine_code(lowered, opt_level=config.opt_level, libraries=libraries)
        return CompiledKernel(lowered, made.function, memory, HostRoom(), made.owner)

    def synchronize(self) -> None:
        """Launches have ended when they return."""
