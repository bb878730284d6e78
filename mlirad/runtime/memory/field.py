"""The memory of fields, in layout trees: one allocation a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field_layout import FieldLayout, layouts, root_sizes
from mlirad.dialect.turn import in_turn
from mlirad.runtime.memory.memory import Allocation, DType, Memory, Values


class FieldMemory:
    """Where a field lies, and its elements there.

    For a field without nested blocks the elements have exactly the field's index axes.
    """

    def __init__(
        self, layout: FieldLayout, memory: Memory, allocation: Allocation, dtype: DType
    ) -> None:
        self.layout, self.allocation = layout, allocation
        self.elements = memory.elements(
            allocation, layout.offset, dtype, layout.element_shape, layout.element_strides
        )
        self.address = self.elements.address
        self._is_flat = len(layout.levels) == layout.rank
        self._digits = [
            [level.extent for level in layout.of_axis(axis)] for axis in range(layout.rank)
        ]

    def locate(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """An index of the field as an index of its elements."""
        if self._is_flat:
            return index
        located: list[int] = []
        for value, extents in zip(index, self._digits):
            part: list[int] = []
            for extent in reversed(extents):
                value, digit = divmod(value, extent)
                part.append(digit)
            located += reversed(part)
        return tuple(located)

    def read(self) -> Values:
        """A copy with the field's own axes."""
        return self.elements.read().reshape(self.layout.shape)

    def write(self, values: Values) -> None:
        """Set all elements from an array with the field's own axes."""
        self.elements.write(values.reshape(self.elements.shape))

    def take(self, other: FieldMemory) -> None:
        """Set all elements to those of a field of the same shape."""
        if self.elements.shape == other.elements.shape:
            self.elements.take(other.elements)
        else:  # blocks are nested in another way
            self.write(other.read())

    def add(self, other: FieldMemory) -> None:
        """Add those of a field of the same shape."""
        one, two = self.elements, other.elements
        if (one.shape, one.dtype) == (two.shape, two.dtype):
            self.elements.add(other.elements)
        else:
            self.write(self.read() + other.read())

    def fill(self, value: Any) -> None:
        """Set all elements to one number."""
        self.elements.fill(value)


@in_turn
def allocate(
    declare: Callable[[], object], dtypes: dict[str, DType], memory: Memory
) -> dict[str, FieldMemory]:
    """Allocate the trees that are declared at the insertion point; the memory of every field, by
    name."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            declare()
        found = layouts(module.operation)
        roots = {name: memory.allocate(size) for name, size in root_sizes(module.operation).items()}
    return {
        name: FieldMemory(layout, memory, roots[layout.root], dtypes[name])
        for name, layout in found.items()
    }
