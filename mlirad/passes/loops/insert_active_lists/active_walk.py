"""A walk through the active cells of a block: through the blocks around it, outermost first, some
cells at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd, prod

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import array_type
from mlirad.dialect.field_layout import Activity
from mlirad.dialect.snode import element_and_shape, place_of
from mlirad.ir import build as b
from mlirad.ir.ops import Math
from mlirad.ir.walk import at_end

WORD = 8  # bytes that are tested at once
LEAST, ROW = 32, 1024  # cells of a row, where an axis can be cut so

Cell = Mapping[int, ir.Value]  # the number along each axis
Visit = Callable[[Cell, ir.Value], ir.Value]  # a cell, and what is carried to it, and from it


class ActiveWalk:
    """Code at the insertion point. The cells of the outermost block are walked through by rows,
    which others may share out; a walk carries a number along."""

    def __init__(self, module: ir.Operation, activities: Sequence[Activity]) -> None:
        self.module, self.activities, self.location = module, activities, ir.Location.current
        self.extents = [digits.extent for digits in activities[-1].cells]
        outermost = [digits.extent for digits in activities[0].cells]
        sizes = [size for size in range(LEAST, ROW + 1) if outermost[-1] % size == 0]
        self._row = max(sizes, default=outermost[-1])
        self._rows = [*outermost[:-1], outermost[-1] // self._row]

    @property
    def rows(self) -> int:
        """Return how many rows there are."""
        return prod(self._rows)

    def count(self, row: ir.Value) -> ir.Value:
        """Return how many active cells there are in a row."""
        return self._through_row(row, b.index(0), None)

    def visit(self, row: ir.Value, carried: ir.Value, visit: Visit) -> ir.Value:
        """Go through the active cells of a row."""
        return self._through_row(row, carried, visit)

    def _through_row(self, row: ir.Value, carried: ir.Value, visit: Visit | None) -> ir.Value:
        axes = [digits.axis for digits in self.activities[0].cells]
        cell = dict(zip(axes, unpack_cell(row, self._rows)))
        return self._along(0, axes[-1], self._row, cell, carried, visit)

    def _inside(self, level: int, around: Cell, carried: ir.Value, visit: Visit | None) -> ir.Value:
        """Through the cells of a block in one of the block around it."""
        extents = {digits.axis: digits.extent for digits in self.activities[level].cells}
        above = {digits.axis: digits.extent for digits in self.activities[level - 1].cells}
        widths = [(axis, extents[axis] // above.get(axis, 1)) for axis in sorted(extents)]
        return self._nest(level, widths, around, carried, visit)

    def _nest(
        self,
        level: int,
        widths: Sequence[tuple[int, int]],
        cell: Cell,
        carried: ir.Value,
        visit: Visit | None,
    ) -> ir.Value:
        (axis, width), *inner_widths = widths
        if not inner_widths:
            return self._along(level, axis, width, cell, carried, visit)
        loop = b.for_loop(b.index(0), b.index(width), b.index(1), [carried])
        with at_end(loop.body, self.location):
            inner = {**cell, axis: _number(cell.get(axis), width, loop.induction)}
            b.yield_([self._nest(level, inner_widths, inner, loop.carried[0], visit)])
        return loop.results[0]

    def _along(
        self, level: int, axis: int, width: int, cell: Cell, carried: ir.Value, visit: Visit | None
    ) -> ir.Value:
        """Through the cells along the last axis, some at a time."""
        size = gcd(width, WORD)
        loop = b.for_loop(b.index(0), b.index(width // size), b.index(1), [carried])
        with at_end(loop.body, self.location):
            first = _number(cell.get(axis), width, b.mul(loop.induction, b.index(size)))
            flags = self._flags(level, {**cell, axis: first}, axis, size)
            if visit is None and level == len(self.activities) - 1:
                b.yield_([b.add(loop.carried[0], _population(flags))])
            else:
                enter = self._visit_below(level, visit)
                cells = {**cell, axis: first}
                b.yield_([self._visit_cells(flags, cells, axis, size, loop.carried[0], enter)])
        return loop.results[0]

    def _visit_below(self, level: int, visit: Visit | None) -> Visit:
        if level < len(self.activities) - 1:
            return lambda cell, carried: self._inside(level + 1, cell, carried, visit)
        assert visit is not None
        return visit

    def _visit_cells(
        self, flags: ir.Value, cell: Cell, axis: int, size: int, carried: ir.Value, enter: Visit
    ) -> ir.Value:
        """Enter those of some cells along an axis whose flags are set."""
        some = b.if_else(_is_set(flags), [carried.type])
        with at_end(some.then, self.location):
            loop = b.for_loop(b.index(0), b.index(size), b.index(1), [carried])
            with at_end(loop.body, self.location):
                bits = b.index_castui(loop.induction, flags.type)
                bits = b.mul(bits, b.number(8, flags.type))
                flag = b.shrui(flags, bits)
                flag = b.andi(flag, b.number(1, flags.type))
                branch = b.if_else(_is_set(flag), [carried.type])
                with at_end(branch.then, self.location):
                    inner = {**cell, axis: b.add(cell[axis], loop.induction)}
                    b.yield_([enter(inner, loop.carried[0])])
                with at_end(branch.otherwise, self.location):
                    b.yield_([loop.carried[0]])
                b.yield_([branch.results[0]])
            b.yield_([loop.results[0]])
        with at_end(some.otherwise, self.location):
            b.yield_([carried])
        return some.results[0]

    def _flags(self, level: int, cell: Cell, axis: int, size: int) -> ir.Value:
        """The lowest bits of the bytes of cells along an axis, as one number."""
        array, type_ = self._array(self.activities[level].field), b.integer_type(8 * size)
        any_flag: ir.Value | None = None
        for number in range(size):
            at = {**cell, axis: b.add(cell[axis], b.index(number)) if number else cell[axis]}
            byte = field.load(array, [at[axis_number] for axis_number in sorted(at)])
            if size > 1:
                byte = b.extui(byte, type_)
            if any_flag is None:
                any_flag = byte
            else:
                byte = b.shli(byte, b.number(8 * number, type_))
                any_flag = b.ori(any_flag, byte)
        assert any_flag is not None
        ones = int.from_bytes(b"\1" * size, "little")
        return b.andi(any_flag, b.number(ones, type_))

    def _array(self, name: str) -> ir.Value:
        place = place_of(self.module, name)
        assert place is not None, name
        element, shape = element_and_shape(place)
        return field.get(name, array_type(ir.Type.parse(element), shape))


def unpack_cell(entry: ir.Value, extents: Sequence[int]) -> list[ir.Value]:
    """The number of a cell along each axis."""
    digits: list[ir.Value] = []
    for extent in reversed(extents[1:]):
        width = b.index(extent)
        digits.append(b.rem(entry, width))
        entry = b.div(entry, width)
    return [entry, *reversed(digits)]


def _number(outer: ir.Value | None, width: int, inner: ir.Value) -> ir.Value:
    return inner if outer is None else b.add(b.mul(outer, b.index(width)), inner)


def _is_set(flags: ir.Value) -> ir.Value:
    return b.compare(b.NE, flags, b.number(0, flags.type))


def _population(flags: ir.Value) -> ir.Value:
    """Return how many flags are set."""
    count = b.make(Math.CTPOP, flags.type, [flags])
    return b.index_castui(count, b.index_type())
