"""Compile a lowered module for this machine's CPU, and call it."""

from __future__ import annotations

import ctypes.util
import platform
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Any

from mlirad.bindings import ExecutionEngine
from mlirad.errors import TaichiRuntimeError
from mlirad.pipeline.mode import Mode
from mlirad.pipeline.stages.cpu import cpu_stages
from mlirad.pipeline.stages.stage import Stage
from mlirad.runtime.config import Config
from mlirad.runtime.executor.executor import Code, Executor, LaunchMemory, Lowered, PassedArray
from mlirad.runtime.executor.frame import Frame
from mlirad.runtime.failures import raise_recorded
from mlirad.runtime.memory.host import HostMemory

# results, of 8 bytes each
_WORDS = {
    "f64": "d",
    "f32": "f4x",
    "f16": "e6x",
    "u1": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
}


@cache
def has_fused_multiply_add() -> bool:
    """Whether this machine rounds `a * b + c` once by an instruction; else each would be a call."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    flags = next(
        (
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("flags")
        ),
        "",
    )
    return "fma" in flags.split()


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


class CompiledKernel(Code):
    """Machine code of one kernel: each launch has a frame to itself."""

    def __init__(
        self, lowered: Lowered, memory: LaunchMemory, *, opt_level: int = 3, parallel: bool = True
    ) -> None:
        libraries = [openmp_library()] if parallel else []
        self.engine = ExecutionEngine(lowered.module, opt_level=opt_level, shared_libs=libraries)
        self.function: Callable[[Any], None] = self.engine.lookup(lowered.name)
        self.messages, self._failure = lowered.messages, lowered.failure
        self._signature, self._check_bits = lowered.signature, memory.check_bits
        # as long as the code
        self._memory = {symbol: memory.field(symbol) for symbol in lowered.fields}
        self._results = (
            Struct("=" + "".join(_WORDS[dtype.name] for dtype in lowered.results))
            if lowered.results
            else None
        )
        self._result_count = len(lowered.results)
        first = self._frame()
        self._ended = first.record is not None or first.results is not None
        self._idle = [first]  # the one of the launch that ended last is the last

    def _frame(self) -> Frame:
        return Frame(self._signature, self._memory.__getitem__, self._result_count)

    def launch(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> tuple[Any, ...]:
        """Run."""
        try:
            frame = self._idle.pop()
        except IndexError:  # as many launches as there were at once run now
            frame = self._frame()
        for slot, number in frame.scalars:
            slot.value = values[number]
        if frame.arrays:
            frame.pass_arrays(arrays)
        for slot, symbol in frame.checks:
            slot.value = self._check_bits(symbol).address
        self.function(frame.packed)
        found = self._end(frame) if self._ended else ()
        self._idle.append(frame)
        return found

    def _end(self, frame: Frame) -> tuple[Any, ...]:
        if frame.record is not None and frame.record[0]:
            # and the frame is not used again
            raise_recorded(self.messages, frame.record, self._failure)
        return (
            ()
            if frame.results is None or self._results is None
            else self._results.unpack_from(frame.results)
        )

    def ran_last_with(self, values: Sequence[Any], arrays: Sequence[PassedArray] = ()) -> bool:
        """Whether the launch that ended last had the same arguments."""
        frame = next(iter(self._idle[-1:]), None)
        return frame is not None and frame.holds(values, arrays)


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
        )

    def compile(self, lowered: Lowered, memory: LaunchMemory, config: Config) -> CompiledKernel:
        """Machine code."""
        parallel = config.cpu_max_num_threads > 1
        return CompiledKernel(lowered, memory, opt_level=config.opt_level, parallel=parallel)
