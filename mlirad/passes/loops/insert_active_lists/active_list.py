"""A list of the active cells of a block, in memory of one launch: each as one number, in the order
in which a walk comes by them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from mlirad.bindings import ir
from mlirad.dialect.field_layout import Activity
from mlirad.ir import build as b
from mlirad.ir.walk import at_end
from mlirad.passes.loops.insert_active_lists.active_walk import ActiveWalk, Cell, unpack_cell

SHORT = 1 << 14  # cells: room for all of them is less than what counting takes


class ActiveList:
    """Made at the insertion point: of the cells of the last of nested blocks."""

    def __init__(self, module: ir.Operation, activities: Sequence[Activity]) -> None:
        self.walk, self.location = ActiveWalk(module, activities), ir.Location.current
        self.extents = self.walk.extents
        if prod(self.extents) <= SHORT:
            self.memory = _room(b.index(prod(self.extents)))
            self.count = self._made_at_once()
        else:
            self.memory, self.count = self._made_in_parallel()

    def at(self, position: ir.Value) -> list[ir.Value]:
        """The number along each axis of the cell at a place of the list."""
        return unpack_cell(b.read(self.memory, [position]), self.extents)

    def free(self) -> None:
        """Give the memory back."""
        b.dealloc(self.memory)

    def _made_at_once(self) -> ir.Value:
        loop = b.for_loop(b.index(0), b.index(self.walk.rows), b.index(1), [b.index(0)])
        with at_end(loop.body, self.location):
            b.yield_([self.walk.visit(loop.induction, loop.carried[0], self._put)])
        return loop.results[0]

    def _made_in_parallel(self) -> tuple[ir.Value, ir.Value]:
        """Rows are counted, so that each knows its place in the list, and written."""
        zero, step, rows = b.index(0), b.index(1), b.index(self.walk.rows)
        starts = _room(rows)
        counting = b.parallel_loop([zero], [rows], [step])
        with at_end(counting.body, self.location):
            row = counting.indices[0]
            b.write(self.walk.count(row), starts, [row])
            b.end_parallel()
        adding = b.for_loop(zero, rows, step, [zero])
        with at_end(adding.body, self.location):
            start = adding.carried[0]
            end = b.add(start, b.read(starts, [adding.induction]))
            b.write(start, starts, [adding.induction])
            b.yield_([end])
        self.memory = _room(adding.results[0])
        writing = b.parallel_loop([zero], [rows], [step])
        with at_end(writing.body, self.location):
            row = writing.indices[0]
            self.walk.visit(row, b.read(starts, [row]), self._put)
            b.end_parallel()
        b.dealloc(starts)
        return self.memory, adding.results[0]

    def _put(self, cell: Cell, position: ir.Value) -> ir.Value:
        packed = b.index(0)
        for axis, extent in zip(sorted(cell), self.extents):
            packed = b.add(b.mul(packed, b.index(extent)), cell[axis])
        b.write(packed, self.memory, [position])
        return b.add(position, b.index(1))


def _room(count: ir.Value) -> ir.Value:
    return b.alloc(ir.MemRefType.get([ir.ShapedType.get_dynamic_size()], b.index_type()), [count])
