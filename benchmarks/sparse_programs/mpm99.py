"""Fluid, jelly and snow that fall, as in `mpm99`."""

from collections.abc import Callable
from typing import Any

from benchmarks.sparse_programs import materials


def build(ti: Any, size: int) -> tuple[Callable[[], None], Callable[[], float]]:
    """`size` particles; twenty steps in one, and a digest."""
    return materials.build(ti, size, is_pulled=False)
