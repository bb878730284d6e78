"""Properties of this machine's processor, and its library of elementary functions."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from mlirad.host import Feature, architecture, has
from mlirad.ir.elementary.vector_math import ARGUMENTS, vector_name
from mlirad.pipeline.stages.cpu import VectorLibrary

_LIBRARY = "libmvec.so.1"
_FLAGS = {"avx512f": "avx512", "avx2": "avx2", "avx": "avx"}  # the widest first


def has_fused_multiply_add() -> bool:
    """Return whether it rounds `a * b + c` once by an instruction; else each would be a call."""
    return not _is_x86() or "fma" in _flags()


def has_root_estimates() -> bool:
    """Return whether it estimates reciprocal square roots to the 12 bits that
    `insert-root-estimates` takes for granted; Arm's processors have eight."""
    return _is_x86() and has_fused_multiply_add()


def vector_bytes() -> int:
    """Return the number of bytes of its vectors."""
    lengths = {"avx512": 64, "avx2": 32, "avx": 32}
    return lengths.get(_instructions() or "", 16)


@cache
def vector_library() -> VectorLibrary | None:
    """Return the functions of libmvec for the processor; None if there is no such library. Code
    that is compiled finds the functions among the symbols of the process."""
    instructions = _instructions()
    if instructions is None or not has(Feature.LIBMVEC):
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
    return "neon" if architecture() == "aarch64" else None


def _is_x86() -> bool:
    return architecture() == "x86_64"


@cache
def _flags() -> frozenset[str]:
    if not has(Feature.PROCESSOR):
        return frozenset()
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())
