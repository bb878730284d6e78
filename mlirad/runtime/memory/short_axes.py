"""Arrays whose elements are short rows that lie apart, such as vectors among other members of a
cell: NumPy's innermost loop is over the last axis, and takes several times as long over few. Large
arrays are copied in pieces."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mlirad.runtime.memory.blocks import Blocks
from mlirad.runtime.memory.values import Values

SHORT, MANY = 16, 4096  # entries of a row, of an array
PIECE = 1 << 18  # bytes
# bytes; the C library makes shorter copies than 1 MiB without reading what it writes: 22 us for two
# of 512 KiB, 32 for one of 1 MiB (glibc 2.36, Zen 5)
LEAST_COPIED, COPIED = 1 << 20, 1 << 19
SHORT_FILL = 1 << 12  # bytes: NumPy fills so many before a call of memset begins


def assign(target: Values, values: Any) -> None:
    """`target[...] = values`."""
    is_array = isinstance(values, np.ndarray) and values.shape == target.shape
    if is_array and target.nbytes >= LEAST_COPIED and _are_alike(target, values):
        _copy_in_pieces(target, values)
    elif not _is_of_short_rows(target) and not (is_array and _is_of_short_rows(values)):
        target[...] = values
    elif is_array:
        for k in range(target.shape[-1]):
            assign(target[..., k], values[..., k])
    elif np.ndim(values) == 0:
        for k in range(target.shape[-1]):
            assign(target[..., k], values)
    else:  # one row for all
        target[...] = values


def set_all(memory: Values, value: object) -> None:
    """Set everything to one number."""
    if not memory.flags.c_contiguous:
        assign(memory, value)
    elif memory.nbytes <= SHORT_FILL:
        memory.fill(value)
    elif isinstance(value, int | float | np.generic) and value == 0:
        ctypes.memset(memory.ctypes.data, 0, memory.nbytes)
    else:
        memory.fill(value)


def exchange(left: Values, right: Values) -> None:
    """Swap the values of two arrays of one shape, in pieces that stay in a cache."""
    if left.nbytes <= PIECE or not left.ndim:
        copy = copied(left)
        assign(left, right)
        assign(right, copy)
        return
    rows = max(1, len(left) * PIECE // left.nbytes)
    for k in range(0, len(left), rows):
        if rows == 1:
            exchange(left[k, ...], right[k, ...])
        else:
            exchange(left[k : k + rows], right[k : k + rows])


def copied(values: Values, blocks: Blocks | None = None) -> Values:
    """A contiguous copy; a large one in one of some blocks, whose pages are there."""
    memory = np.empty(values.nbytes, np.uint8) if blocks is None else blocks.take(values.nbytes)
    copy: Values = memory.view(values.dtype).reshape(values.shape)
    assign(copy, values)
    return copy


def _are_alike(target: Values, values: Values) -> bool:
    """Return whether one array is copied to the other byte by byte, in any order."""
    return (
        target.dtype == values.dtype
        and target.flags.c_contiguous
        and values.flags.c_contiguous
        and not np.may_share_memory(target, values)
    )


def _copy_in_pieces(target: Values, values: Values) -> None:
    to, of = target.reshape(-1), values.reshape(-1)
    count = COPIED // target.itemsize
    for k in range(0, to.size, count):
        to[k : k + count] = of[k : k + count]


def _is_of_short_rows(array: Values) -> bool:
    return (
        array.ndim > 1
        and array.size >= MANY
        and array.shape[-1] <= SHORT
        and not array.flags.c_contiguous
    )
