"""The features of the host that are used beyond POSIX, Python, and LLVM: chosen once.

Every feature has an alternative. `MLIRAD_PLAIN_HOST=1` in the environment turns off all features,
and `MLIRAD_PLAIN_HOST=loader,libmvec` some, to test the alternatives on a machine that has all.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from functools import cache

_VARIABLE = "MLIRAD_PLAIN_HOST"


class Feature(StrEnum):
    """A feature that some machines have; the comment says what is used without it."""

    LOADER = "loader"  # of object files, for x86-64 and ELF: LLVM's execution engine keeps the code
    LIBMVEC = "libmvec"  # glibc's elementary functions of vectors: the C library's, of scalars
    PROCESSOR = "processor"  # its instructions: vectors of 16 bytes, no fused operations
    SEMAPHORES = "semaphores"  # unnamed ones, and joins with a timeout: POSIX's conditions
    MEMORY_FILES = "files"  # in memory: temporary files


@cache
def has(feature: Feature) -> bool:
    """Return whether this process uses a feature."""
    if feature in _left_out():
        return False
    if feature is Feature.LOADER and architecture() != "x86_64":
        return False
    return sys.platform == "linux"


def architecture() -> str:
    """Return the kind of processor, by LLVM's name: x86_64, aarch64."""
    machine = os.uname().machine.lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


@cache
def _left_out() -> frozenset[Feature]:
    """Raises ValueError for a name that is not a feature."""
    text = os.environ.get(_VARIABLE, "")
    if text in ("", "0", "1"):
        return frozenset(Feature if text == "1" else ())
    try:
        return frozenset(map(Feature, text.split(",")))
    except ValueError:
        expected = f"0, 1, or some of {', '.join(Feature)}"
        raise ValueError(f"{_VARIABLE}={text}: expected {expected}") from None
