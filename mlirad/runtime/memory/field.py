"""The memory of fields, in layout trees: one allocation a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect import context
from mlirad.dialect.field_layout import FieldLayout, Kind, layouts, root_sizes
from mlirad.dialect.turn import in_turn
from mlirad.runtime.boxes import Box
from mlirad.runtime.memory.deferred_writes import Backlog
from mlirad.runtime.memory.memory import (
    Allocation,
    DType,
    Elements,
    Memory,
    Nesting,
    SparseElements,
    Values,
    clear_later,
)
from mlirad.runtime.memory.nesting import activate, activate_as, active
from mlirad.runtime.memory.values import part


class FieldMemory:
    """The place of a field, and its elements there.

    For a field without nested blocks the elements have exactly the field's index axes.
    """

    def __init__(
        self,
        layout: FieldLayout,
        memory: Memory,
        allocation: Allocation,
        dtype: DType,
        nesting: Nesting | None = None,
    ) -> None:
        self.layout, self.allocation, self.nesting = layout, allocation, nesting
        self.elements = memory.elements(
            allocation, layout.offset, dtype, layout.element_shape, layout.element_strides, nesting
        )
        self._is_flat = len(layout.levels) == layout.rank
        self._digits = [
            [level.extent for level in layout.of_axis(axis)] for axis in range(layout.rank)
        ]

    @property
    def address(self) -> int:
        """Return the address of the first element, which launches take."""
        return self.elements.address

    def locate(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """An index of the field as an index of its elements."""
        if self._is_flat:
            return index
        located: list[int] = []
        for value, extents in zip(index, self._digits):
            digits: list[int] = []
            for extent in reversed(extents):
                value, digit = divmod(value, extent)
                digits.append(digit)
            located += reversed(digits)
        return tuple(located)

    def activate(self, index: Sequence[int]) -> None:
        """Make the cells active that an element lies in; `index` is its place among the
        elements."""
        if self.nesting is not None and not self.nesting.is_derivative:
            activate(self.nesting, index)

    def read(self) -> Values:
        """A copy with the field's own axes, 0 where it is not active."""
        elements, nesting = self.elements, self.nesting
        if isinstance(elements, SparseElements):
            values = elements.read_active()
        else:
            values = elements.read()
            if nesting is not None and not nesting.is_derivative:
                values[~active(nesting, elements.shape)] = 0
        return values.reshape(self.layout.shape)

    def write(self, values: Values) -> None:
        """Set all elements that are active, of a derivative all, from an array with the field's
        own axes."""
        ordered = values.reshape(self.elements.shape)
        if self.nesting is None or not self.nesting.is_derivative:
            self._write(ordered)
        elif isinstance(self.elements, SparseElements):
            self.elements.write_all(ordered)
        else:
            self.elements.write(ordered)

    def _write(self, values: Values) -> None:
        elements, nesting = self.elements, self.nesting
        if isinstance(elements, SparseElements):
            elements.write_active(values)
        elif nesting is None:
            elements.write(values)
        else:
            elements.write(np.where(active(nesting, elements.shape), values, elements.read()))

    def take(self, other: FieldMemory) -> None:
        """Set all elements to those of a field of the same shape."""
        if self.elements.shape == other.elements.shape:
            self.elements.take(other.elements)
        else:  # blocks are nested in another way
            self.write(other.read())

    def copy(self, other: FieldMemory) -> None:
        """Make active what is so in a field of the same shape, and set what is active then; of
        derivatives, all."""
        if self.has_activity:
            self.activate_as(other)
            self.take_active(other)
        elif self.nesting is None and self.elements.shape != other.elements.shape:
            self.write(other.all())
        else:
            self.take(other)

    def take_active(self, other: FieldMemory) -> None:
        """Set what is active to elements of a field of the same shape."""
        target, source = self.elements, other.elements
        if target.shape == source.shape and not self._may_hold_more(other):
            target.take(source)
        elif not isinstance(target, SparseElements) or not target.combine(source, adds=False):
            self._write(other.all().reshape(target.shape))  # blocks are nested in another way

    @property
    def has_activity(self) -> bool:
        """Return whether elements may be inactive, which copies leave as they are."""
        return self.nesting is not None and not self.nesting.is_derivative

    def _may_hold_more(self, other: FieldMemory) -> bool:
        """Return whether elements of one of two fields may be inactive and differ from 0."""
        if self.nesting is None or other.nesting is None:
            return False
        return any(
            nesting.is_derivative or any(block.kind is Kind.BITMASKED for block in nesting.blocks)
            for nesting in (self.nesting, other.nesting)
        )

    def all(self) -> Values:
        """A copy with the field's own axes, of what is not active too."""
        elements = self.elements
        plain = elements.plain if isinstance(elements, SparseElements) else elements
        return plain.read().reshape(self.layout.shape)

    def activate_as(self, other: FieldMemory) -> None:
        """Make active what is so in a field of the same shape."""
        if self.nesting is not None and self.has_activity:
            activate_as(self.nesting, self.elements.shape, other.nesting, other.elements.shape)

    def add(self, other: FieldMemory) -> None:
        """Add those of a field of the same shape."""
        target, source = self.elements, other.elements
        if (target.shape, target.dtype) == (source.shape, source.dtype):
            self.elements.add(other.elements)
        else:
            self.write(self.read() + other.read())

    def clear(self, backlog: Backlog) -> None:
        """Set all elements of a derivative to 0: now, or when they are used."""
        if self.nesting is None:
            clear_later(self.elements, backlog)
        else:
            self.fill(0)

    def add_copied(self, other: FieldMemory, copy: FieldMemory) -> None:
        """Add a derivative of a field to that of the one that it is a `copy` of: where the copy is
        active."""
        target, source, is_masked = self.elements, other.elements, copy.has_activity
        if target.shape == source.shape and not (is_masked and self._may_hold_more(copy)):
            self.add(other)
        elif not (
            is_masked and isinstance(target, SparseElements) and target.combine(source, adds=True)
        ):
            values = source.plain.read() if isinstance(source, SparseElements) else source.read()
            if copy.nesting is not None and is_masked:
                where = active(copy.nesting, copy.elements.shape).reshape(values.shape)
                values = np.where(where, values, 0)
            plain = target.plain if isinstance(target, SparseElements) else target
            plain.write(plain.read() + values.reshape(target.shape))

    def clear_active(self, derivative: Elements, box: Box) -> None:
        """Set a derivative of this field to 0 in a box, of the field's elements, as far as the
        field is active there."""
        if isinstance(derivative, SparseElements):
            derivative.fill_active(0, box)
        elif self.nesting is None:
            derivative.fill(0, box)
        else:
            where = np.zeros(self.elements.shape, bool)
            part(where, box)[...] = part(active(self.nesting, where.shape), box)
            derivative.fill(0, None, where.reshape(derivative.shape))

    def fill_each(self, values: Values) -> None:
        """Set all elements that are active to one vector or matrix."""
        self._write(np.broadcast_to(values, self.elements.shape))

    def fill(self, value: Any) -> None:
        """Set all elements that are active to one number; of derivatives, all to 0."""
        elements, nesting = self.elements, self.nesting
        if nesting is None or (nesting.is_derivative and value == 0):
            elements.fill(value)
        elif isinstance(elements, SparseElements):
            elements.fill_active(value)
        else:
            elements.fill(value, None, active(nesting, elements.shape))


@in_turn
def allocate(
    declare: Callable[[], object],
    dtypes: dict[str, DType],
    memory: Memory,
    nestings: Callable[[FieldLayout], Nesting | None] = lambda layout: None,
) -> dict[str, FieldMemory]:
    """Allocate the trees that are declared at the insertion point; the memory of every field, by
    name. `nestings` gives the sparse blocks that a field lies in; their memory is committed
    lazily."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            declare()
        by_name = layouts(module.operation)
        nested = {name: nestings(layout) for name, layout in by_name.items()}
        lazy = {by_name[name].root for name, nesting in nested.items() if nesting is not None}
        roots = {
            name: memory.allocate(size, lazily=name in lazy)
            for name, size in root_sizes(module.operation).items()
        }
    return {
        name: FieldMemory(layout, memory, roots[layout.root], dtypes[name], nested[name])
        for name, layout in by_name.items()
    }
