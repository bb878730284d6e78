"""Running sums of fields."""

from __future__ import annotations

import numpy as np

from mlirad.algorithms.arrays import in_a_row, put
from mlirad.errors import TaichiTypeError


class PrefixSumExecutor:
    """An in-place inclusive prefix sum of a field or ndarray of `length` numbers, in their type. No
    derivative passes through it."""

    def __init__(self, length: int) -> None:
        self.length = length

    def run(self, input_arr: object) -> None:
        """Compute the sums in place, by NumPy. Raises TaichiTypeError unless the argument has one
        axis of `length` numbers."""
        sums = in_a_row(input_arr, "input_arr")
        if len(sums) != self.length:
            raise TaichiTypeError(f"input_arr has {len(sums)} numbers, expected {self.length}")
        put(input_arr, np.cumsum(sums, dtype=sums.dtype, out=sums))
