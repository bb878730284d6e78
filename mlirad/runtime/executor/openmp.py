"""The OpenMP runtime that parallel loops use."""

from __future__ import annotations

import ctypes
import ctypes.util
import sysconfig
from functools import cache
from pathlib import Path

from mlirad.errors import TaichiRuntimeError

USUAL, BRIEF = 200, 1  # milliseconds


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


@cache
def wait_briefly() -> None:
    """Let threads sleep when they had nothing to do for a millisecond, where nobody has said how
    long.

    By itself the runtime lets them spin for 200, in which they take time slices from this process
    and from others. Launches that follow one another at once find them awake all the same.
    """
    runtime = ctypes.CDLL(openmp_library())
    if runtime.kmp_get_blocktime() == USUAL:
        runtime.kmp_set_blocktime(BRIEF)
