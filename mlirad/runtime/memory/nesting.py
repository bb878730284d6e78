"""The sparse blocks that elements lie in, and which of the elements are active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlirad.dialect.field_layout import FieldLayout
from mlirad.runtime.memory.memory import Nesting, SparseBlock, Values


def activate(nesting: Nesting, index: Sequence[int]) -> None:
    """Make the cells active that an element lies in; `index` is its place."""
    digits = [index[axis] for axis in nesting.order[: len(index)]]
    for block in nesting.blocks:
        place = [0] * len(block.order)
        for axis, digit in zip(block.order, digits):
            place[axis] = digit
        count = block.cells.get(tuple(place))
        needed = digits[len(place)] + 1 if block.is_list else 1
        if count < needed if block.is_list else count != needed:
            block.cells.put(tuple(place), needed)


def active(nesting: Nesting, shape: Sequence[int]) -> Values:
    """Return which elements of that shape are active."""
    mask: Values = np.ones([shape[axis] for axis in nesting.order], bool)
    for block in nesting.blocks:
        inner = (1,) * (mask.ndim - block.depth)
        cells = block.cells.read().transpose(block.order)
        if block.is_list:
            items = np.arange(mask.shape[block.depth - 1])
            mask &= (items < cells[..., np.newaxis]).reshape(*cells.shape, -1, *inner)
        else:
            mask &= (cells == 1).reshape(*cells.shape, *inner)
    return mask.transpose(_inverse(nesting.order))


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=lambda axis: order[axis]))


def activate_as(
    nesting: Nesting, shape: Sequence[int], other: Nesting | None, other_shape: Sequence[int]
) -> None:
    """Make cells around elements active where others, which are as many, are."""
    if other is None:
        for block in nesting.blocks:
            extent = shape[nesting.order[block.depth - 1]]
            block.cells.fill(extent if block.is_list else 1, None, np.ones(block.cells.shape, bool))
        return
    mask = active(other, other_shape).reshape(shape).transpose(nesting.order)
    for block in nesting.blocks:
        inner = tuple(range(block.depth, mask.ndim))
        needed: Values = np.asarray(mask.any(inner), np.int32)
        if block.is_list:
            numbers = np.arange(1, needed.shape[-1] + 1, dtype=np.int32)
            needed = (needed * numbers).max(-1)
        cells = block.cells.read()
        needed = needed.transpose(_inverse(block.order)).astype(cells.dtype)
        is_more = needed > cells if block.is_list else (needed == 1) & (cells != 1)
        for place in np.argwhere(is_more).tolist():
            block.cells.put(tuple(place), needed[tuple(place)])


def outermost_first(layout: FieldLayout) -> tuple[int, ...]:
    """The axes of the elements of a field, those of the outermost block first, components last."""
    levels = layout.levels
    by_axis = sorted(range(len(levels)), key=lambda number: (levels[number].axis, number))
    components = range(len(levels), len(levels) + len(layout.component_shape))
    return (*(by_axis.index(number) for number in range(len(levels))), *components)


def nesting_of(
    layout: FieldLayout, activities: Mapping[str, SparseBlock], *, is_derivative: bool
) -> Nesting | None:
    """The sparse blocks above a field, by the names of their activities; None if there are
    none."""
    blocks = tuple(activities[activity.field] for activity in layout.activities)
    if not blocks:
        return None
    return Nesting(outermost_first(layout), blocks, is_derivative=is_derivative)
