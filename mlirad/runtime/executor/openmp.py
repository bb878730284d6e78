"""The OpenMP runtime that parallel loops use."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mlirad.errors import TaichiRuntimeError

USUAL, BRIEF = 200, 1  # milliseconds


@cache
def openmp_library() -> str:
    """The path of an OpenMP runtime. Raises TaichiRuntimeError where there is none."""
    for folder in _folders():
        for name in ("libiomp5.so", "libomp.so"):
            if (folder / name).exists():
                return str(folder / name)
    from ctypes.util import find_library  # loads what runs compilers

    for library in ("iomp5", "omp", "omp5"):
        found = find_library(library)
        if found:
            return found
    raise TaichiRuntimeError(
        "no OpenMP runtime found: install 'intel-openmp', or use ti.init(cpu_max_num_threads=1)"
    )


def _folders() -> Iterator[Path]:
    """Where packages put libraries, the usual one first."""
    yield Path(sys.prefix) / "lib"
    from sysconfig import get_path  # reads how Python was built

    yield Path(get_path("data")) / "lib"
    yield Path(get_path("platlib")).parents[2] / "lib"


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
