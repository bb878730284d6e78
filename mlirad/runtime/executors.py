"""Executors by the names of `ti.init(arch=)`."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.runtime.cpu.cpu_executor import CpuExecutor
from mlirad.runtime.executor.executor import Executor, UnavailableError


def _simt() -> Executor:
    from mlirad.runtime.simt.simt_executor import SimtExecutor  # and the memory of devices

    return SimtExecutor()


def _cuda() -> Executor:
    from mlirad.runtime.cuda.functions import driver_functions

    driver_functions()  # which there may not be; behind it comes an LLVM that few programs need
    from mlirad.runtime.cuda.cuda_executor import CudaExecutor

    return CudaExecutor()


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "x64": CpuExecutor,
    "arm64": CpuExecutor,
    "python": CpuExecutor,  # of what is not a kernel
    "simt": _simt,
    "cuda": _cuda,
}


def executor_of(arch: str) -> Executor:
    """The executor of an architecture. Raises UnavailableError if it is not there."""
    if arch not in EXECUTORS:
        raise UnavailableError("mlirad does not generate code for it")
    return EXECUTORS[arch]()
