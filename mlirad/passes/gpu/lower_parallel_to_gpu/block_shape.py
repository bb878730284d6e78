"""The shape of a block of threads along the axes of a box."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from mlirad.ir.gpu.blocks import WARP

_ROWS = 8
MOST_BLOCKS_IN_ROW = (1 << 31) - 1  # along the first axis of a grid
MOST_BLOCKS = 65_535  # along the second and the third
_LEAST_BUSY = 0.75  # of the threads


class Shape(NamedTuple):
    """Threads and blocks along each axis of a launch; `x` lies along the last axis of the box,
    unless `is_turned`, which says it of the blocks of the first two."""

    threads: tuple[int, int, int]
    blocks: tuple[int, int, int]
    is_turned: bool


def block_shape(extents: Sequence[int], threads: int) -> Shape | None:
    """The shape for a box of two axes or more, those in front of the last two counted as one; None
    where counting the box through by one axis leaves fewer threads idle, or a grid has too many
    blocks."""
    width, height, depth = extents[-1], extents[-2], prod(extents[:-2])
    x = _across(width, height, threads)
    y = _at_most(threads // x, height, _ROWS if len(extents) == 3 else threads)
    z = _at_most(threads // (x * y), depth, 64) if len(extents) == 3 else 1
    blocks = -(-width // x), -(-height // y), -(-depth // z)
    if width * height * depth < _LEAST_BUSY * prod(blocks) * x * y * z:
        return None
    is_turned = blocks[1] > MOST_BLOCKS
    grid = (blocks[1], blocks[0], blocks[2]) if is_turned else blocks
    if grid[0] > MOST_BLOCKS_IN_ROW or max(grid[1:]) > MOST_BLOCKS:
        return None
    return Shape((x, y, z), grid, is_turned)


def _across(width: int, height: int, threads: int) -> int:
    """Threads along the last axis: a warp, fewer where it is short, more where there are few rows
    to fill a block."""
    x = min(WARP, _power_of_two(width))
    if threads % x:
        return threads
    while threads // x > _power_of_two(height) and x * 2 <= _power_of_two(width):
        x *= 2
    return x


def _at_most(available: int, extent: int, limit: int) -> int:
    return max(1, min(available, _power_of_two(extent), limit))


def _power_of_two(extent: int) -> int:
    """The least that is not below."""
    return 1 << (extent - 1).bit_length()
