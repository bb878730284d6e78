"""The file that `perf` reads names of code from that no file on disk has: `/tmp/perf-PID.map`, a
line for each piece of code, with its address, its size and its name."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from typing import NamedTuple


class Code(NamedTuple):
    """A piece of code."""

    address: int
    size: int
    name: str

    def __str__(self) -> str:
        return f"{self.address:x} {self.size:x} {self.name}\n"


_begun: set[int] = set()  # processes whose file is begun: a forked one begins its own


def perf_map_path() -> str:
    """Return where `perf` looks for the code of this process."""
    return f"/tmp/perf-{os.getpid()}.map"


def note_for_perf(codes: Iterable[Code]) -> None:
    """Write pieces of code to the file; warn if it cannot be written."""
    is_python_writing = getattr(sys, "is_stack_trampoline_active", lambda: False)()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    if os.getpid() not in _begun and not is_python_writing:
        flags |= os.O_TRUNC  # an earlier process had the number
    try:
        with os.fdopen(os.open(perf_map_path(), flags, 0o644), "w") as file:
            file.writelines(map(str, codes))
    except OSError as error:
        warnings.warn(f"perf cannot name kernels: {error}", stacklevel=2)
    _begun.add(os.getpid())
