"""The compiler's code as memory of this process.

Of the library that it comes in, passes touch some 25 MB and LLVM another 25. Those pages are clean:
the file has them, and whoever runs them again finds them there.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from mlirad.bindings import PROVIDER

_MAPS = Path("/proc/self/maps")
_SELDOM = 0.15  # seconds; to touch them again takes 5 to 8 ms
_last = time.monotonic()


def give_back_compiler_pages() -> None:
    """Let go of what the process holds of the compiler's code, if it has not just been done."""
    global _last
    if not hasattr(mmap, "MADV_DONTNEED") or time.monotonic() - _last < _SELDOM:
        return
    advise = ctypes.CDLL(None, use_errno=True).madvise
    for start, size in _code():
        if advise(ctypes.c_void_p(start), ctypes.c_size_t(size), mmap.MADV_DONTNEED):
            raise OSError(ctypes.get_errno(), "madvise")
    _last = time.monotonic()


@cache
def _code() -> tuple[tuple[int, int], ...]:
    """Return the code of the bindings' libraries, to which nothing writes: start and size."""
    spec = find_spec(f"{PROVIDER}._mlir_libs")
    if spec is None or not spec.submodule_search_locations or not _MAPS.exists():
        return ()
    folders = tuple(os.path.realpath(entry) + os.sep for entry in spec.submodule_search_locations)
    ranges = []
    for line in _MAPS.read_text().splitlines():
        place, protection, *_, path = line.split(maxsplit=5)
        if protection == "r-xp" and path.startswith(folders):
            start, end = (int(entry, 16) for entry in place.split("-"))
            ranges.append((start, end - start))
    return tuple(ranges)
