"""Sorting fields."""

from __future__ import annotations

import numpy as np

from mlirad.algorithms.arrays import in_a_row, put
from mlirad.errors import TaichiTypeError


def parallel_sort(keys: object, values: object = None) -> None:
    """Sort a field or ndarray of one axis, of any scalar type, in place and the least first, by
    NumPy, and another one by the order of the first. No derivative passes through it.

    Raises TaichiTypeError for what has not one axis of numbers, or not as many as there are keys.
    """
    array = in_a_row(keys, "keys")
    if values is None:
        array.sort()
    else:
        moved = in_a_row(values, "values")
        if len(moved) != len(array):
            raise TaichiTypeError(f"there are {len(array)} keys and {len(moved)} values")
        order = np.argsort(array, kind="stable")
        array = array[order]
        put(values, moved[order])
    put(keys, array)
