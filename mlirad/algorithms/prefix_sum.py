"""Running sums of fields."""

from __future__ import annotations

import numpy as np

from mlirad.algorithms.arrays import in_a_row, put
from mlirad.errors import TaichiTypeError


class PrefixSumExecutor:
    """Replaces each number of a field or ndarray of so many, of any scalar type, by the sum of
    those up to it, in that type. No derivative passes through it."""

    def __init__(self, length: int) -> None:
        self.length = length

    def run(self, input_arr: object) -> None:
        """Add up in place, by NumPy. Raises TaichiTypeError for what has not one axis of so many
        numbers."""
        sums = in_a_row(input_arr, "input_arr")
        if len(sums) != self.length:
            raise TaichiTypeError(f"input_arr has {len(sums)} numbers, not {self.length}")
        put(input_arr, np.cumsum(sums, dtype=sums.dtype, out=sums))
