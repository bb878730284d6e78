"""Sorting fields."""

from __future__ import annotations

import numpy as np

from mlirad.algorithms.arrays import in_a_row, put
from mlirad.errors import TaichiTypeError


def parallel_sort(keys: object, values: object = None) -> None:
    """Sort in place and in ascending order, by NumPy. No derivative passes through the sort.

    Args:
        keys: a field or ndarray of one axis, of any scalar type.
        values: another one of the same length, which is put in the order of the keys.

    Raises:
        TaichiTypeError: an argument does not have one axis of numbers, or the lengths differ.
    """
    array = in_a_row(keys, "keys")
    if values is None:
        array.sort()
    else:
        moved = in_a_row(values, "values")
        if len(moved) != len(array):
            raise TaichiTypeError(f"there are {len(array)} keys, but {len(moved)} values")
        order = np.argsort(array, kind="stable")
        array = array[order]
        put(values, moved[order])
    put(keys, array)
