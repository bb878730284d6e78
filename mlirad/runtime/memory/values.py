"""Arrays of the host: boxes of them, and their bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlirad.runtime.boxes import Box

Values = np.ndarray[Any, Any]
_BLOCK, _SMALL = 1 << 16, 1 << 12
_ALL = (None, None)  # of an axis


def part(view: Values, box: Box) -> Values:
    """The elements of a box; of a field in nested blocks, all."""
    if len(box) != view.ndim or box.count(_ALL) == len(box):
        return view
    slices = [
        slice(max(low or 0, 0), None if high is None else max(high + 1, 0)) for low, high in box
    ]
    return view[tuple(slices)]


def address_of(values: Values) -> int:
    """Return the address of an array, faster than `ctypes` does."""
    address: int = values.__array_interface__["data"][0]
    return address


def same_bits(left: Values, right: Values) -> bool:
    """Return whether two arrays of one type and shape hold the same bits."""
    if left.nbytes <= _SMALL:
        return left.tobytes() == right.tobytes()
    if not (left.flags.c_contiguous and right.flags.c_contiguous):
        return not (bits(left) != bits(right)).any()
    left_bits, right_bits = bits(left.reshape(-1)), bits(right.reshape(-1))
    return not any(
        (left_bits[k : k + _BLOCK] != right_bits[k : k + _BLOCK]).any()
        for k in range(0, left_bits.size, _BLOCK)
    )


def bits(values: Values) -> Values:
    """Elements as integers."""
    return values.view(np.dtype(f"u{values.itemsize}"))
