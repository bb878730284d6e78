"""Times of compiling."""

from __future__ import annotations

from mlirad.runtime.profile import COMPILING


def print_scoped_profiler_info() -> None:
    """Print the compilation time of each kernel and derivative in seconds, longest first."""
    for name, seconds in sorted(COMPILING.seconds.items(), key=lambda entry: -entry[1]):
        print(f"{seconds:9.3f} s  {name}")


def clear_scoped_profiler_info() -> None:
    """Discard the compilation times so far."""
    COMPILING.seconds.clear()


def get_total_compilation_time() -> float:
    """Return the time in seconds that this process has spent on compilation since the last
    clearing. For code from the disk cache, it is the time to find it."""
    return sum(COMPILING.seconds.values())
