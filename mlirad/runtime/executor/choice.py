"""Which executor a program has: by `ti.init(arch=)`."""

from __future__ import annotations

from collections.abc import Callable

from mlirad.runtime.executor.cpu import CpuExecutor
from mlirad.runtime.executor.executor import Executor
from mlirad.runtime.simt.executor import SimtExecutor

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "x64": CpuExecutor,
    "arm64": CpuExecutor,
    "simt": SimtExecutor,
}


def executor_of(arch: str) -> Executor:
    """The executor of an architecture."""
    return EXECUTORS[arch]()
