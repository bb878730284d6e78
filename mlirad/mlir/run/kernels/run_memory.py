"""The memory of a run: the fields of layout trees, and arrays, on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mlirad.bindings import ir
from mlirad.dialect.field_layout import (
    Activity,
    Digits,
    FieldLayout,
    Kind,
    layouts,
    root_sizes,
    sparse_roots,
)
from mlirad.runtime.executor.executor import Addressable
from mlirad.runtime.memory.deferred_writes import Backlog, LaterWrites
from mlirad.runtime.memory.field import FieldMemory
from mlirad.runtime.memory.memory import Allocation, Memory
from mlirad.runtime.memory.values import Values
from mlirad.types import from_mlir


class RunMemory:
    """Fields that start at zero, as a launch finds them."""

    def __init__(self, trees: ir.Operation, memory: Memory) -> None:
        self.layouts, self._memory = layouts(trees), memory
        self._sparse = sparse = sparse_roots(self.layouts)
        self._allocations = {
            name: memory.allocate(size, lazily=name in sparse)
            for name, size in root_sizes(trees).items()
        }
        self.fields = {
            name: FieldMemory(
                layout, memory, self._allocations[layout.root], from_mlir(layout.element).numpy
            )
            for name, layout in self.layouts.items()
        }
        self._backlog, self._checks = Backlog(), dict[str, Allocation]()

    # What code reaches.

    def field(self, symbol: str) -> Addressable:
        """The memory of a field."""
        return self.fields[symbol]

    def check_bits(self, symbol: str) -> Addressable:
        """A byte for each element of a field."""
        if symbol not in self._checks:
            layout = self.layouts[symbol]
            lazily = layout.root in self._sparse
            self._checks[symbol] = self._memory.allocate(prod(layout.shape), lazily=lazily)
        return self._checks[symbol]

    @property
    def backlog(self) -> Backlog:
        """The arrays that have deferred writes."""
        return self._backlog

    def deferred_writes(self, symbol: str) -> LaterWrites | None:
        """Return the deferred writes to a field."""
        return self.fields[symbol].elements.deferred

    # What the command line names.

    def clear(self) -> None:
        """Set all fields to 0."""
        for allocation in (*self._allocations.values(), *self._checks.values()):
            allocation.clear()

    def activities(self) -> set[str]:
        """Return the fields that say which cells of sparse blocks are active."""
        return {a.field for layout in self.layouts.values() for a in layout.activities}

    def write(self, name: str, values: Values, *, activates: bool) -> None:
        """Set a field, and perhaps make the cells of sparse blocks active that hold what is not
        0."""
        self.fields[name].write(values)
        for activity in self.layouts[name].activities if activates else ():
            self._activate(activity, self.layouts[name], values)

    def read(self, name: str) -> Values:
        """Return what a field holds, where it is not active too."""
        return self.fields[name].read()

    def _activate(self, activity: Activity, layout: FieldLayout, values: Values) -> None:
        components = tuple(range(layout.rank, values.ndim))
        index = np.nonzero((values != 0).any(axis=components) if components else values != 0)
        cells = self.fields[activity.field]
        marks = cells.read()
        place = tuple(_digit(digits, index) for digits in activity.cells)
        if activity.kind is Kind.DYNAMIC:
            assert activity.item is not None
            lengths = (_digit(activity.item, index) + 1).astype(marks.dtype)
            np.maximum.at(marks, place, lengths)
        else:
            marks[place] = 1
        cells.write(marks)


def _digit(digits: Digits, index: Sequence[Values]) -> Values:
    return np.asarray(index[digits.axis] // digits.width % digits.extent)


class RunArray:
    """An array argument of a run, with its derivatives, on a machine."""

    def __init__(self, values: Values, memory: Memory) -> None:
        self.dims = values.shape
        self._allocation, self.elements = memory.array(values.dtype, values.shape)
        self.elements.write(values)
        self.address = self.elements.address
        self.gradient: RunArray | None = None
        self.tangents: dict[int, RunArray] = {}

    @property
    def host(self) -> Values | None:
        """None: it lies in the machine's memory."""
        return None

    def adjoint(self) -> RunArray:
        """The adjoint, which the signature has."""
        assert self.gradient is not None
        return self.gradient

    def tangent(self, number: int) -> RunArray:
        """The tangents in one direction."""
        return self.tangents[number]
