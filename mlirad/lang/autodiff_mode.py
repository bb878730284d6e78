"""Modes in which kernels run, and the relation of a field to another, under Taichi's names."""

from enum import Enum


class AutodiffMode(Enum):
    """The work that a launch does besides computing; mlirad's kernels are in `VALIDATION` inside a
    tape that validates."""

    NONE = 0
    VALIDATION = 1
    FORWARD = 2
    REVERSE = 3


class SNodeGradType(Enum):
    """The role of a field in differentiation."""

    PRIMAL = 0
    ADJOINT = 1
    DUAL = 2
