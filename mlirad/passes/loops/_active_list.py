"""A list of the active cells of a block, in memory of one launch: each as one number, made by
walking through the blocks around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.dialect.field_layout import Activity
from mlirad.dialect.snode import element_and_shape, place_of
from mlirad.ir import build as b
from mlirad.ir.walk import at_end

SHORT = 1 << 14  # cells: room for all of them is less than what counting takes

Cell = Mapping[int, ir.Value]  # the number along each axis


class ActiveList:
    """Made at the insertion point: of the cells of the last of nested blocks."""

    def __init__(self, module: ir.Operation, activities: Sequence[Activity]) -> None:
        self.module, self.activities, self.location = module, activities, ir.Location.current
        self.extents = [digits.extent for digits in activities[-1].cells]
        index = b.index_type()
        slot = b.slot(index)
        room = b.index(prod(self.extents))
        if prod(self.extents) > SHORT:
            room = self._walked(slot, lambda position, cell: None)
        self.memory = b.make(
            "memref.alloc",
            ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], index),
            [room],
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0]),
        )
        self.count = self._walked(slot, self._put)

    def at(self, position: ir.Value) -> ir.Value:
        """The cell at a place of the list."""
        return b.read(self.memory, [position])

    def free(self) -> None:
        """Give the memory back."""
        b.effect("memref.dealloc", [self.memory])

    def _put(self, position: ir.Value, cell: Cell) -> None:
        packed = b.index(0)
        for axis, extent in zip(sorted(cell), self.extents):
            packed = b.add(b.mul(packed, b.index(extent)), cell[axis])
        b.write(packed, self.memory, [position])

    def _walked(self, slot: ir.Value, visit: Callable[[ir.Value, Cell], None]) -> ir.Value:
        """Visit each active cell with its number; how many there are."""
        b.write(b.index(0), slot)

        def count(cell: Cell) -> None:
            position = b.read(slot)
            visit(position, cell)
            b.write(b.add(position, b.index(1)), slot)

        self._into(0, {}, {}, count)
        return b.read(slot)

    def _into(
        self, level: int, cell: Cell, extents: Mapping[int, int], visit: Callable[[Cell], None]
    ) -> None:
        """Walk through the cells of a block that lie in a cell of the one around it."""
        activity = self.activities[level]
        own = {digits.axis: digits.extent for digits in activity.cells}

        def inside(numbers: Cell) -> None:
            array = self._array(activity.field)
            byte = field.load(array, [numbers[axis] for axis in sorted(numbers)])
            active = b.compare(b.EQ, byte, b.number(1, byte.type))
            branch = b.if_else(active, [], with_else=False)
            with at_end(branch.then, self.location):
                if level == len(self.activities) - 1:
                    visit(numbers)
                else:
                    self._into(level + 1, numbers, own, visit)
                b.yield_()

        widths = [(axis, own[axis] // extents.get(axis, 1)) for axis in sorted(own)]
        self._nest(widths, cell, inside)

    def _nest(
        self, widths: Sequence[tuple[int, int]], cell: Cell, body: Callable[[Cell], None]
    ) -> None:
        if not widths:
            body(cell)
            return
        axis, width = widths[0]
        loop = b.for_loop(b.index(0), b.index(width), b.index(1))
        with at_end(loop.body, self.location):
            number: ir.Value = loop.induction
            if axis in cell:
                number = b.add(b.mul(cell[axis], b.index(width)), number)
            self._nest(widths[1:], {**cell, axis: number}, body)
            b.yield_()

    def _array(self, name: str) -> ir.Value:
        place = place_of(self.module, name)
        assert place is not None, name
        element, shape = element_and_shape(place)
        return field.get(name, array_type(ir.Type.parse(element), shape))


def unpacked(entry: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    """The number of a cell along each axis."""
    found: list[ir.Value] = []
    for extent in reversed(extents[1:]):
        width = b.index(extent)
        found.append(b.make("arith.remui", b.index_type(), [entry, width]))
        entry = b.div(entry, width)
    return [entry, *reversed(found)]
