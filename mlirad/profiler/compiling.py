"""What compiling took."""

from __future__ import annotations

from mlirad.runtime.profile import COMPILING


def print_scoped_profiler_info() -> None:
    """Print how long the code of each kernel and derivative took to make."""
    for name, seconds in sorted(COMPILING.seconds.items(), key=lambda one: -one[1]):
        print(f"{seconds:9.3f} s  {name}")


def clear_scoped_profiler_info() -> None:
    """Forget what compiling took."""
    COMPILING.seconds.clear()


def get_total_compilation_time() -> float:
    """Seconds that this process has spent on making code."""
    return sum(COMPILING.seconds.values())
