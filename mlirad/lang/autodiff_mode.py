"""How a kernel runs, as Taichi names it."""
from enum import Enum


class AutodiffMode(Enum):
    """What a launch does besides computing; mlirad's kernels are in `VALIDATION` inside a tape that validates."""

    NONE = 0
    VALIDATION = 1
    FORWARD = 2
    REVERSE = 3
