"""What this machine's processor has, and its library of elementary functions."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

from mlirad.ir.elementary.vector_math import ARGUMENTS, vector_name
from mlirad.pipeline.stages.cpu import VectorLibrary

_LIBRARY = "libmvec.so.1"
_FLAGS = {"avx512f": "avx512", "avx2": "avx2", "avx": "avx"}  # the widest first


def has_fused_multiply_add() -> bool:
    """Return whether it rounds `a * b + c` once by an instruction; else each would be a call."""
    return not _is_x86() or "fma" in _flags()


def vector_bytes() -> int:
    """How long its vectors are."""
    lengths = {"avx512": 64, "avx2": 32, "avx": 32}
    return lengths.get(_instructions() or "", 16)


@cache
def vector_library() -> VectorLibrary | None:
    """What libmvec has for it; None if there is no such library. Code that is compiled finds
    the functions among the symbols of the process."""
    instructions = _instructions()
    if instructions is None:
        return None
    try:
        library = ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
    missing = [
        name
        for name in ARGUMENTS
        if not all(hasattr(library, vector_name(name, instructions, bits)) for bits in (32, 64))
    ]
    return VectorLibrary(instructions, tuple(missing))


def _instructions() -> str | None:
    if _is_x86():
        return next((name for flag, name in _FLAGS.items() if flag in _flags()), "sse")
    return "neon" if os.uname().machine.lower() in ("aarch64", "arm64") else None


def _is_x86() -> bool:
    return os.uname().machine.lower() in ("x86_64", "amd64")


@cache
def _flags() -> frozenset[str]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())
