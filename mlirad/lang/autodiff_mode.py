"""How a kernel runs, and what a field is to another, as Taichi names it."""

from enum import Enum


class AutodiffMode(Enum):
    """What a launch does besides computing; mlirad's kernels are in `VALIDATION` inside a tape that
    validates."""

    NONE = 0
    VALIDATION = 1
    FORWARD = 2
    REVERSE = 3


class SNodeGradType(Enum):
    """What a field is in differentiation."""

    PRIMAL = 0
    ADJOINT = 1
    DUAL = 2
