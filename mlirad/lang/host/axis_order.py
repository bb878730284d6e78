"""The order in which the axes of an array lie in memory: a `layout` names them, the outermost
first, and is None where they lie in the order of the shape. Components of elements come last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.memory import Elements
from mlirad.runtime.memory.values import Values

Layout = tuple[int, ...]
T = TypeVar("T")


def layout_of(axes: Any, count: int, description: str) -> Layout | None:
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


class IndexedElements(msgspec.Struct, frozen=True):
    """Elements in memory that another layout has than their indices."""

    stored: Elements
    layout: Layout

    def read(self, box: Box | None = None) -> Values:
        """Return a contiguous copy of the elements, or of those in a box."""
        return self._indexed(self.stored.read(self._stored_box(box))).copy()

    def write(self, values: Values, box: Box | None = None) -> None:
        """Set the elements, or those in a box."""
        axes = in_memory_order(range(values.ndim), self.layout)
        self.stored.write(values.transpose(axes), self._stored_box(box))

    def lend(self, *, writable: bool = False) -> Values | None:
        """Return a view; see `Elements.lend`."""
        view = self.stored.lend(writable=writable)
        return None if view is None else self._indexed(view)

    def _indexed(self, values: Values) -> Values:
        return values.transpose(in_index_order(range(values.ndim), self.layout))

    def _stored_box(self, box: Box | None) -> Box | None:
        return None if box is None else in_memory_order(box, self.layout)


OrderedElements = Elements | IndexedElements
