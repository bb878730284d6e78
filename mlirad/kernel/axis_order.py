"""The order in which the axes of an array lie in memory: a `layout` names them, the outermost
first, and is None where they lie in the order of the shape. Components of elements come last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Layout = tuple[int, ...]
T = TypeVar("T")


def layout_of(axes: Iterable[int], count: int, description: str) -> Layout | None:
    """Return a layout of so many axes; None for the order of the shape. Raises ValueError for what
    is no permutation of them."""
    layout = tuple(axes)
    if len(layout) != count:
        raise ValueError(
            f"layout has {len(layout)} entries but {description} has {count} dimensions"
        )
    if sorted(layout) != [*range(count)]:
        raise ValueError(f"layout={layout!r} is not a permutation of range({count})")
    return None if layout == tuple(range(count)) else layout


def in_memory_order(of_axes: Sequence[T], layout: Layout | None) -> tuple[T, ...]:
    """Return what belongs to the axes, and behind them to components, as they lie in memory."""
    if layout is None:
        return tuple(of_axes)
    return (*(of_axes[axis] for axis in layout), *of_axes[len(layout) :])


def in_index_order(stored: Sequence[T], layout: Layout | None) -> tuple[T, ...]:
    """Return what belongs to the axes in memory, and behind them to components, as they are
    indexed."""
    if layout is None:
        return tuple(stored)
    return (*(stored[layout.index(axis)] for axis in range(len(layout))), *stored[len(layout) :])
