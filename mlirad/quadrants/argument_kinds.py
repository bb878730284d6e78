"""The kinds of arguments that `kernel._primal.launch_stats` counts."""

from __future__ import annotations

from enum import IntEnum


class KernelBatchedArgType(IntEnum):
    """A kind of argument. Integers are not told apart by their sign: there is no count of UINT."""

    FLOAT = 0
    INT = 1
    UINT = 2
    QD_ARRAY = 3
    QD_ARRAY_WITH_GRAD = 4
