"""Compile a lowered module for this machine's CPU, and call it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.cpu import LaneWidth, cpu_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.cache.cache import open_cache
from mlirad.runtime.cache.slot import Slot
from mlirad.runtime.config import Config
from mlirad.runtime.cpu.processor import (
    has_fused_multiply_add,
    has_root_estimates,
    vector_bytes,
    vector_library,
)
from mlirad.runtime.cpu.workers import workers
from mlirad.runtime.executor.compiled import CompiledKernel
from mlirad.runtime.executor.executor import (
    Addressable,
    Executor,
    KeptCode,
    LaunchMemory,
    LoweredKernel,
)
from mlirad.runtime.executor.frame import LaunchSpace
from mlirad.runtime.memory.host.host_memory import HostAllocation, HostMemory
from mlirad.runtime.native.machine_code import machine_code


def _lanes(config: Config) -> LaneWidth:
    if config.lanes is None:
        return LaneWidth(vector_bytes() // 4)
    return LaneWidth(config.lanes, everywhere=True)


def _kept_worker_code(config: Config, text: str) -> KeptCode:
    """Return the code of workers that earlier processes compiled."""
    cache = open_cache(replace(config, asks_for_cache=False))  # the program's own has warned
    slot = Slot(cache, text, *["with lines"] * config.debug_info)
    code = None if slot.found is None else slot.found[0]
    return KeptCode(code, (lambda binary: slot.keep([binary])) if slot.is_on else None)


class HostLaunchSpace(LaunchSpace):
    """Python's memory, for launches that have ended when they return, on some threads."""

    def __init__(
        self, threads: int, find_code: Callable[[str], KeptCode], *, debug_info: bool = False
    ) -> None:
        self._threads, self._kept_worker_code = threads, find_code
        self._debug_info = debug_info

    def words(self, count: int) -> ctypes.Array[ctypes.c_int64]:
        return (ctypes.c_int64 * count)()

    def scratch(self, size: int) -> Addressable:
        return HostAllocation(size)

    def wait(self) -> None:
        """Nothing runs."""

    def workers(self) -> Addressable:
        return workers(self._threads - 1, self._kept_worker_code, debug_info=self._debug_info)


class CpuExecutor(Executor):
    """This machine's CPU."""

    def __init__(self) -> None:
        self.memory = HostMemory()

    def stages(self, mode: Mode, config: Config, *, keeps: bool = False) -> list[Stage]:
        return cpu_stages(
            mode,
            threads=config.cpu_max_num_threads,
            worth=config.thread_worth,
            fast_math=config.fast_math,
            check_bounds=config.debug,
            keeps=keeps,
            fused=has_fused_multiply_add(),
            estimates=has_root_estimates(),
            library=vector_library(),
            lanes=_lanes(config),
            width=vector_bytes(),
            debug_info=config.debug_info,
            defers_zeros=True,
        )

    def compile(
        self, lowered: LoweredKernel, memory: LaunchMemory, config: Config
    ) -> CompiledKernel:
        code = machine_code(lowered, opt_level=config.opt_level, debug_info=config.debug_info)
        room = HostLaunchSpace(
            config.cpu_max_num_threads,
            partial(_kept_worker_code, config),
            debug_info=config.debug_info,
        )
        return CompiledKernel(lowered, code.function, memory, room, code.owner)

    def synchronize(self) -> None:
        """Launches have ended when they return."""
