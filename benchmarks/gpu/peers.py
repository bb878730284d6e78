"""Who is compared on a GPU, and which cases each has a program for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from benchmarks.gpu.by_hand_programs import source
from benchmarks.systems import OURS, PEERS, System, find_systems

BY_HAND = "by_hand"
# the others have all
_CASES = {
    "warp": {"copy", "saxpy_sum", "stencil2d", "nbody"},
    BY_HAND: {"saxpy_sum", "stencil2d", "nbody"},
    "jax": {"saxpy_sum", "stencil2d", "nbody", "network", "matmul", "conv2d"}
    | {"softmax_attention", "mass_spring", "lbm"},
    "torch": {"copy", "saxpy_sum", "stencil2d", "nbody", "network", "matmul", "conv2d"}
    | {"softmax_attention", "mass_spring", "lbm"},
}


def find_gpu_systems(given: Sequence[str], *, alone: bool) -> list[System]:
    """mlirad, the systems given as NAME=PYTHON, and those that are installed; `alone`, mlirad and
    those given, as without a GPU others would take the processor."""
    if alone:
        return find_systems(given, ())
    systems = find_systems(given, (*PEERS, *_CASES))
    if source() is not None and shutil.which("nvcc") is not None:
        systems.append(System(BY_HAND, sys.executable))
    return systems


def has_case(system: System, case: str) -> bool:
    """Return whether a system has a program for a case."""
    return system.name == OURS or case in _CASES.get(system.name, {case})
