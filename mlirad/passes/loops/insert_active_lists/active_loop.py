"""A loop over a list of active cells, and what lies in each, in the place of one over all cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import msgspec

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect.field import load, split_access
from mlirad.dialect.field_layout import Activity, Kind, activities_of, path_to, read_block
from mlirad.ir import build as b
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import at_end, attributes_of, before, block_operations, clone
from mlirad.passes.loops.insert_active_lists.active_guard import Guard, Part
from mlirad.passes.loops.insert_active_lists.active_list import ActiveList


class Choice(msgspec.Struct, frozen=True):
    """A block with a list of its active cells: the activities from the outermost one to its own,
    and its index as parts of the axes of the loop."""

    activities: tuple[Activity, ...]
    cell: tuple[Part, ...]
    is_tested: bool

    @property
    def axes(self) -> list[int]:
        """The axes of the loop that cells lie along."""
        return [cell_axis.axis for cell_axis in self.cell if cell_axis.axis is not None]

    @property
    def volume(self) -> int:
        """Return how many iterations there are for a cell, of the axes that cells lie along."""
        return prod(cell_axis.width for cell_axis in self.cell)


def choices(loop: ir.Operation, guard: Guard) -> list[Choice]:
    """The blocks around what is tested that a list can be made for, innermost first: those whose
    cells the loop runs through."""
    block = read_block(guard.block)
    is_list = block.kind is Kind.DYNAMIC
    path = [*path_to(guard.block), *([] if is_list else [block])]
    activities = [activity for activity in activities_of(path) if activity.kind is not Kind.DYNAMIC]
    lengths, lows = [s.length for s in spans(loop)], [s.low for s in spans(loop)]
    result = []
    for position, activity in enumerate(activities):
        cell = tuple(
            guard.cell[digits.axis]._replace(width=guard.cell[digits.axis].width * digits.width)
            for digits in activity.cells
        )
        if all(_is_whole(p, d.extent, lengths, lows) for p, d in zip(cell, activity.cells)):
            is_tested = not is_list and position == len(activities) - 1
            result.append(Choice(tuple(activities[: position + 1]), cell, is_tested))
    return result[::-1]


def _is_whole(
    cell_axis: Part, extent: int, lengths: Sequence[int | None], lows: Sequence[int | None]
) -> bool:
    """Return whether a loop runs through all cells along an axis."""
    if cell_axis.axis is None:
        return extent == 1
    low = lows[cell_axis.axis]
    starts = low is not None and low + cell_axis.shift == 0
    return starts and lengths[cell_axis.axis] == extent * cell_axis.width


class ActiveLoop:
    """One loop that is replaced."""

    def __init__(
        self, module: ir.Operation, loop: ir.Operation, guard: Guard, choice: Choice | None
    ) -> None:
        self.module, self.loop, self.guard, self.choice = module, loop, guard, choice
        self.box = Parallel(loop)
        self.item_axis = self._axis_of_items()

    def insert(self) -> None:
        """Replace the loop."""
        with before(self.loop):
            active_list = (
                None if self.choice is None else ActiveList(self.module, self.choice.activities)
            )
            lower, upper, steps = self._bounds(active_list)
            attributes = attributes_of(self.loop)
            attributes.pop("operandSegmentSizes")
            new = b.parallel_loop(lower, upper, steps, attributes)
            with at_end(new.body, self.loop.location):
                self._fill(new, active_list)
                b.end_parallel()
            if active_list is not None:
                active_list.free()
        self.loop.erase()

    def _axis_of_items(self) -> int | None:
        """The axis that runs through the items of lists, where nothing else depends on it."""
        item = self.guard.item
        if item is None or item.axis is None or item.axis in [p.axis for p in self.guard.cell]:
            return None
        low = spans(self.loop)[item.axis].low
        return item.axis if low is not None and low + item.shift == 0 else None

    @property
    def _unchanged_axes(self) -> list[int]:
        """The axes of the loop that stay as they are."""
        listed = [] if self.choice is None else self.choice.axes
        unchanged = [axis for axis in range(self.box.rank) if axis not in listed]
        return [axis for axis in unchanged if axis != self.item_axis or self._ends_outside]

    @property
    def _ends_outside(self) -> bool:
        """Return whether there is one list, whose length is known before the loop."""
        return self.choice is None and self.box.rank == 1

    def _bounds(
        self, active_list: ActiveList | None
    ) -> tuple[list[ir.Value], list[ir.Value], list[ir.Value]]:
        zero, step = b.index(0), b.index(1)
        lower = [self.box.lower[axis] for axis in self._unchanged_axes]
        upper = [self.box.upper[axis] for axis in self._unchanged_axes]
        if self._ends_outside and self.item_axis is not None:
            upper = [self._end_of_items([])]
        steps = [self.box.steps[axis] for axis in self._unchanged_axes]
        if active_list is not None and self.choice is not None:
            widths = [cell_axis.width for cell_axis in self.choice.cell if cell_axis.width > 1]
            lower = [zero] * (1 + len(widths)) + lower
            upper = [active_list.count, *(b.index(width) for width in widths), *upper]
            steps = [step] * (1 + len(widths)) + steps
        return lower, upper, steps

    def _fill(self, new: Parallel, active_list: ActiveList | None) -> None:
        """The body, for an entry of the list and an iteration in its cell."""
        index_of: dict[int, ir.Value] = {}
        inner = list(new.indices)
        if active_list is not None and self.choice is not None:
            for cell_axis, number in zip(self.choice.cell, active_list.at(inner.pop(0))):
                value = number
                if cell_axis.width > 1:
                    value = b.add(b.mul(number, b.index(cell_axis.width)), inner.pop(0))
                if cell_axis.axis is not None:
                    index_of[cell_axis.axis] = (
                        b.sub(value, b.index(cell_axis.shift)) if cell_axis.shift else value
                    )
        index_of.update(zip(self._unchanged_axes, inner))
        if self.item_axis is None or self._ends_outside:
            self._copy(index_of)
            return
        loop = b.for_loop(self.box.lower[self.item_axis], self._end_of_items(index_of), b.index(1))
        with at_end(loop.body, self.loop.location):
            self._copy({**index_of, self.item_axis: loop.induction})
            b.yield_()

    def _end_of_items(self, index_of: dict[int, ir.Value] | list[ir.Value]) -> ir.Value:
        """The index behind the last item of the list that an iteration goes through."""
        item = self.guard.item
        assert item is not None
        cell = [
            b.index(0) if cell_axis.axis is None else _index(index_of[cell_axis.axis], cell_axis)
            for cell_axis in self.guard.cell
        ]
        length = load(split_access(self.guard.load)[0], cell)
        end = b.to_index(length)
        if item.width > 1:
            end = b.mul(end, b.index(item.width))
        return b.sub(end, b.index(item.shift)) if item.shift else end

    def _copy(self, indices: dict[int, ir.Value]) -> None:
        """The old body; what is tested is known where a list has what passes the test."""
        values: dict[ir.Value, ir.Value] = {
            old: indices[axis] for axis, old in enumerate(self.box.indices)
        }
        is_known = self.item_axis is not None or (self.choice is not None and self.choice.is_tested)
        if is_known:
            values[self.guard.condition] = b.number(-1, b.integer_type(1))
        for op in block_operations(self.box.body)[:-1]:
            if not (is_known and self.guard.condition in list(op.results)):
                clone(op, values)


def _index(index: ir.Value, cell_axis: Part) -> ir.Value:
    value = b.add(index, b.index(cell_axis.shift)) if cell_axis.shift else index
    return b.div(value, b.index(cell_axis.width)) if cell_axis.width > 1 else value
