"""What compiling took."""

from __future__ import annotations

from mlirad.runtime.profile import COMPILING


def print_scoped_profiler_info() -> None:
    """Print how many seconds the code of each kernel and derivative took to make, the longest
    first."""
    for name, seconds in sorted(COMPILING.seconds.items(), key=lambda entry: -entry[1]):
        print(f"{seconds:9.3f} s  {name}")


def clear_scoped_profiler_info() -> None:
    """Forget what compiling took so far."""
    COMPILING.seconds.clear()


def get_total_compilation_time() -> float:
    """Seconds, a float, that this process has spent on making code since the last clearing; code
    found on disk counts with what it took to find."""
    return sum(COMPILING.seconds.values())
