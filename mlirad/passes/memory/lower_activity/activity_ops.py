"""Lowerings of the ops on the activity of sparse blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.index_ranges import is_below
from mlirad.bindings import ir
from mlirad.dialect import activity as act
from mlirad.dialect import field
from mlirad.dialect.activity import block_named, blocks_of
from mlirad.dialect.field import is_access
from mlirad.dialect.field_layout import Activity, Digits, Kind, activities_of, path_to, read_block
from mlirad.dialect.layout_rules import extents_along
from mlirad.ir import build as b
from mlirad.ir.walk import at_end, before, operations, owner_operation
from mlirad.passes.memory.lower_activity.activity_fields import ACTIVE, HELD, ActivityFields
from mlirad.passes.memory.lower_activity.clearing import clear_below


def lower(
    module: ir.Operation, function: ir.Operation, ops: list[ir.Operation], *, derivatives: bool
) -> None:
    """Lower the ops of a function; deactivations clear `derivatives` too."""
    fields = ActivityFields(module, function)
    for op in ops:
        with before(op):
            _LOWERINGS[op.name](_Block(module, fields, op, derivatives), op)
        op.erase()


class _Block:
    """The block that an op is about, seen from the cell, or the list, that it names."""

    def __init__(
        self, module: ir.Operation, fields: ActivityFields, op: ir.Operation, derivatives: bool
    ) -> None:
        self.fields, self.op, self.derivatives = fields, op, derivatives
        self.name = block_named(op)
        self.ops = blocks_of(module, self.name)
        block = read_block(self.ops[0])
        self.kind, self.cell = block.kind, list(op.operands)
        path = path_to(self.ops[0])
        self.names_list = self.kind is Kind.DYNAMIC and not _names_item(op)
        self.capacity = block.extents[0]
        self.around = path if self.names_list else [*path, block]
        self.activities = activities_of(self.around)

    @property
    def activity(self) -> Activity:
        """The block's own activity: of a list, where it stands among the cells around it."""
        if not self.names_list:
            return self.activities[-1]
        cells = tuple(Digits(n, 1, extent) for n, extent in enumerate(self.extents()))
        return Activity(self.kind, self.name, cells, None)

    def extents(self) -> list[int]:
        """Return how many cells, or lists, there are along each axis."""
        extent_of_axis = extents_along((block.axes, block.extents) for block in self.around)
        return [extent_of_axis[axis] for axis in sorted(extent_of_axis)]

    def where_inside(
        self, change: Callable[[], list[ir.Value]], event: str, otherwise: Sequence[ir.Value] = ()
    ) -> list[ir.Value]:
        """Do something where the cell is one of the block's, else report it; what that gives."""
        sizes = self.extents()
        outside = [(i, n) for i, n in zip(self.cell, sizes) if not is_below(i, n)]
        if not outside:
            return change()
        inside = b.all_of([b.compare(b.ULT, i, b.index(n)) for i, n in outside])
        holes = ", ".join("{}" for _ in sizes)
        field.assert_(
            inside,
            f"{event} outside of the tree: ({holes}) in a {self.kind.value} block of ({holes})",
            [*self.cell, *(b.index(n) for n in sizes)],
        )
        branch = b.if_else(inside, [value.type for value in otherwise], bool(otherwise))
        with at_end(branch.then, self.op.location):
            b.yield_(change())
        if otherwise:
            with at_end(branch.otherwise, self.op.location):
                b.yield_(otherwise)
        return list(branch.results)

    def activate(self, activities: tuple[Activity, ...]) -> None:
        """Make the cells of some nested blocks around the cell active."""
        deciding = [a for a in activities if a is activities[-1] or a.kind is Kind.BITMASKED]
        if not deciding:
            return
        present = b.all_of([self.fields.is_active(activity, self.cell) for activity in deciding])
        absent = b.xori(present, b.number(-1, present.type))
        branch = b.if_else(absent, [], with_else=False)
        with at_end(branch.then, self.op.location):
            for activity in activities:
                self.fields.activate(activity, self.cell)
            b.yield_()


def _names_item(op: ir.Operation) -> bool:
    return act.ActivateOp.holds(op) or act.IsActiveOp.holds(op)


def _activate(block: _Block, op: ir.Operation) -> None:
    def change() -> list[ir.Value]:
        block.activate(block.activities)
        return []

    block.where_inside(change, "a cell is activated")


def _is_active(block: _Block, op: ir.Operation) -> None:
    op.results[0].replace_all_uses_with(block.fields.is_active(block.activity, block.cell))


def _length(block: _Block, op: ir.Operation) -> None:
    op.results[0].replace_all_uses_with(block.fields.load(block.activity, block.cell))


def _append(block: _Block, op: ir.Operation) -> None:
    """A length that is too great is set back at once: what others append then is too much too."""
    i32 = b.integer_type(32)
    full = b.number(block.capacity, i32)

    def grow() -> list[ir.Value]:
        activity = block.activity
        number = block.fields.update(activity, block.cell, b.number(1, i32), "add")
        has_room = b.compare(b.SLT, number, full)
        message = f"appending to a list that is full: it has room for {block.capacity} items"
        field.assert_(has_room, message)
        branch = b.if_else(has_room, [i32])
        with at_end(branch.then, op.location):
            block.activate(block.activities)
            b.yield_([number])
        with at_end(branch.otherwise, op.location):
            block.fields.update(activity, block.cell, full, "min")
            b.yield_([full])
        return list(branch.results)

    numbers = block.where_inside(grow, "a list is appended to", [full])
    op.results[0].replace_all_uses_with(numbers[0])


def _deactivate(block: _Block, op: ir.Operation) -> None:
    keeps = block.kind is Kind.BITMASKED

    def change() -> list[ir.Value]:
        value = block.fields.load(block.activity, block.cell)
        test = b.compare(
            b.EQ if keeps else b.NE, value, b.number(ACTIVE if keeps else 0, value.type)
        )
        branch = b.if_else(test, [], with_else=False)
        with at_end(branch.then, op.location):
            if not keeps:
                clear_below(block.fields, block.ops, block.cell, derivatives=block.derivatives)
            left = b.number(HELD if keeps else 0, value.type)
            block.fields.store(block.activity, block.cell, left)
            b.yield_()
        changes = [access for access in operations(branch.op) if is_access(access)]
        ends = [owner_operation(value), changes[-1]]
        act.mark_deactivation([ends[0], *changes], ends)
        return []

    block.where_inside(change, "a cell is deactivated")


_LOWERINGS: dict[str, Callable[[_Block, ir.Operation], None]] = {
    act.ActivateOp.OPERATION_NAME: _activate,
    act.IsActiveOp.OPERATION_NAME: _is_active,
    act.LengthOp.OPERATION_NAME: _length,
    act.AppendOp.OPERATION_NAME: _append,
    act.DeactivateOp.OPERATION_NAME: _deactivate,
}
