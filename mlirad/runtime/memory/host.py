"""Memory of layout trees: one zeroed, aligned allocation a tree, and NumPy views of the fields in
it."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from mlirad import types
from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.snode import FieldLayout, layouts, root_sizes
from mlirad.dialect.turn import in_turn

ALIGNMENT = 64
LARGE = 1 << 16
STAGGER, PLACES = 4096 + 5 * ALIGNMENT, 61
_DTYPES = {"i1": types.u1.numpy}


class Allocation:
    """Bytes at an aligned address, zero at first.

    Large ones start at different places within a page: elements of the same index would meet in one
    set of the cache, and a loop over a field, its tangents and its adjoint reads all of them.
    """

    _large = itertools.count()

    def __init__(self, size: int) -> None:
        place = next(self._large) % PLACES * STAGGER if size >= LARGE else 0
        self._owner = np.zeros(size + ALIGNMENT + place, np.uint8)
        start = -self._owner.ctypes.data % ALIGNMENT + place
        self.data = self._owner[start : start + size]
        self.address = self.data.ctypes.data
        self.size = size


class FieldMemory:
    """Where a field lies, and its elements as a NumPy view: a dimension for each level of each
    axis, then components.

    For a field without nested blocks the view has exactly the field's index axes.
    """

    def __init__(self, layout: FieldLayout, allocation: Allocation, dtype: np.dtype[Any]) -> None:
        self.layout = layout
        self.address = allocation.address + layout.offset
        self.allocation = allocation
        rank = len(layout.index_shape)
        levels = [level for axis in range(rank) for level in layout.of_axis(axis)]
        shape = [level.extent for level in levels] + list(layout.component_shape)
        strides = [level.stride for level in levels] + list(layout.component_strides)
        self.view = np.ndarray(shape, dtype, allocation.data.data, layout.offset, strides)
        self.is_flat = len(levels) == rank
        self.digits = [[level.extent for level in layout.of_axis(axis)] for axis in range(rank)]
        self.contiguous = (
            self.view.reshape(-1) if self.view.flags.c_contiguous and self.view.size else None
        )

    def locate(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """An index of the field as an index of the view."""
        if self.is_flat:
            return index
        located: list[int] = []
        for value, extents in zip(index, self.digits):
            part: list[int] = []
            for extent in reversed(extents):
                value, digit = divmod(value, extent)
                part.append(digit)
            located += reversed(part)
        return tuple(located)

    def read(self) -> np.ndarray[Any, Any]:
        """A copy with the field's own axes."""
        return self.view.copy().reshape(self.layout.shape)

    def write(self, values: np.ndarray[Any, Any]) -> None:
        """Set all elements from an array with the field's own axes."""
        self.view[...] = values.reshape(self.view.shape)

    def fill(self, value: Any) -> None:
        """Set all elements."""
        if self.contiguous is None:
            self.view[...] = value
        elif value == 0:
            ctypes.memset(self.contiguous.ctypes.data, 0, self.contiguous.nbytes)
        else:
            self.contiguous.fill(value)


@in_turn
def allocate(tree: str, dtypes: dict[str, Any]) -> dict[str, FieldMemory]:
    """Allocate the trees declared by textual IR; the memory of every field, by name."""
    with context():
        module = ir.Module.parse(tree)
        found = layouts(module.operation)
        roots = {name: Allocation(size) for name, size in root_sizes(module.operation).items()}
    return {
        name: FieldMemory(layout, roots[layout.root], dtypes[name])
        for name, layout in found.items()
    }
