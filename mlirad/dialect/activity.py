"""Operations on the activity of sparse blocks. A block is named by the field of its activity, a
cell by its index among the cells of that block. `lower-activity` lowers them to accesses of these
fields."""

from collections.abc import Sequence
from typing import Any

from mlirad.bindings import I1, ext, ir
from mlirad.dialect.effects import reads, writes
from mlirad.dialect.layout_rules import DYNAMIC, is_sparse, problem_of
from mlirad.dialect.snode import (
    Snode,
    activity_of,
    extents_of,
    module_of,
    tree_operations,
    trees_around,
)
from mlirad.dialect.view import NamedOp, View


class ActivateOp(View, dialect=Snode, name="activate", effects=[writes("activity")]):
    """Activate a cell and the cells that contain it; a list is extended to contain the item.

    `snode.activate @p[%i, %j]`

    Races: not with other activations; with deactivations of the block in other iterations.
    Bounds: an index outside the block is an error of the launch, and changes nothing.
    """

    indices: Sequence[ext.Operand[ir.IndexType]]
    activity: ir.FlatSymbolRefAttr

    def problem(self) -> str | None:
        return _problem(self.operation)


class DeactivateOp(View, dialect=Snode, name="deactivate", effects=[writes("activity")]):
    """Deactivate a cell. Below a cell of a pointer block, everything becomes 0 and inactive. In a
    dynamic block, the list becomes empty.

    `snode.deactivate @p[%i, %j]`

    Races: with every operation on the block in other iterations.
    Bounds: an index outside the block is an error of the launch, and changes nothing.
    """

    indices: Sequence[ext.Operand[ir.IndexType]]
    activity: ir.FlatSymbolRefAttr

    def problem(self) -> str | None:
        return _problem(self.operation, of_lists=True)


class IsActiveOp(View, dialect=Snode, name="is_active", effects=[reads("activity")]):
    """Return whether a cell is active. The attribute `visits` marks the test of a serial loop over
    active cells.

    `%a = snode.is_active @p[%i]`

    Races: with an operation that activates or deactivates the cell in another iteration.
    Bounds: indices lie in the block.
    """

    indices: Sequence[ext.Operand[ir.IndexType]]
    activity: ir.FlatSymbolRefAttr
    answer: ext.Result[I1]

    @property
    def visits(self) -> bool:
        """Return whether a serial loop asks, to run its body or not."""
        return VISITS in self.operation.attributes

    def problem(self) -> str | None:
        return _problem(self.operation)


class LengthOp(View, dialect=Snode, name="length", effects=[reads("activity")]):
    """The length of a list. `%n = snode.length @d[%i]`

    Races: with an operation that changes the list in another iteration.
    Bounds: indices lie in the blocks around the list.
    """

    indices: Sequence[ext.Operand[ir.IndexType]]
    activity: ir.FlatSymbolRefAttr
    count: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem(self.operation, of_lists=True, only_lists=True)


class AppendOp(View, dialect=Snode, name="append", effects=[reads("activity"), writes("activity")]):
    """Append an item to a list, and return its number. If the list is full, the launch raises an
    error, and the result is the capacity of the list.

    `%k = snode.append @d[%i]`

    Races: not with other appends, whose order is undefined; with deactivations in other
      iterations.
    Bounds: indices lie in the blocks around the list.
    """

    indices: Sequence[ext.Operand[ir.IndexType]]
    activity: ir.FlatSymbolRefAttr
    number: ext.Result[Any]

    def problem(self) -> str | None:
        return _problem(self.operation, of_lists=True, only_lists=True)


VISITS = "visits"
# of the accesses that a deactivation was lowered to: whether to the activity of the cell itself
_DEACTIVATES = "field.deactivates"
_CHANGES = (ActivateOp, DeactivateOp, AppendOp)
ON_ACTIVITY = tuple(kind.OPERATION_NAME for kind in (*_CHANGES, IsActiveOp, LengthOp))


def is_on_activity(op: NamedOp) -> bool:
    """Return whether an op reads or changes which cells are active."""
    return op.name in ON_ACTIVITY


def changes_activity(op: NamedOp) -> bool:
    """Return whether an op changes which cells are active."""
    return any(kind.holds(op) for kind in _CHANGES)


def mark_deactivation(
    accesses: Sequence[ir.Operation], of_activity: Sequence[ir.Operation]
) -> None:
    """Note on accesses that they deactivate a cell, by those `of_activity` among them."""
    for op in accesses:
        op.attributes[_DEACTIVATES] = ir.BoolAttr.get(op in of_activity)


def deactivates(op: ir.Operation) -> bool:
    """Return whether an access belongs to a deactivation."""
    return _DEACTIVATES in op.attributes


def deactivates_cell(op: ir.Operation) -> bool:
    """Return whether an access reads or sets the activity of a cell that is deactivated."""
    return deactivates(op) and op.attributes[_DEACTIVATES] == ir.BoolAttr.get(True)


def block_named(op: ir.Operation) -> str:
    """The block that an op is about."""
    return ir.FlatSymbolRefAttr(op.attributes["activity"]).value


def activate(block: str, indices: Sequence[ir.Value]) -> None:
    """`snode.activate`."""
    ir.Operation.create(ActivateOp.OPERATION_NAME, [], list(indices), _block_attribute(block))


def deactivate(block: str, indices: Sequence[ir.Value]) -> None:
    """`snode.deactivate`."""
    ir.Operation.create(DeactivateOp.OPERATION_NAME, [], list(indices), _block_attribute(block))


def is_active(block: str, indices: Sequence[ir.Value]) -> ir.Value:
    """`snode.is_active`."""
    type_: Any = ir.IntegerType.get_signless(1)
    return _answer(IsActiveOp, type_, block, indices)


def length(block: str, indices: Sequence[ir.Value]) -> ir.Value:
    """`snode.length`."""
    return _answer(LengthOp, ir.IntegerType.get_signless(32), block, indices)


def append(block: str, indices: Sequence[ir.Value]) -> ir.Value:
    """`snode.append`."""
    return _answer(AppendOp, ir.IntegerType.get_signless(32), block, indices)


def _answer(kind: type[View], type_: ir.Type, block: str, indices: Sequence[ir.Value]) -> ir.Value:
    return ir.Operation.create(
        kind.OPERATION_NAME, [type_], list(indices), _block_attribute(block)
    ).result


def _block_attribute(block: str) -> dict[str, ir.Attribute]:
    return {"activity": ir.FlatSymbolRefAttr.get(block)}


def blocks_of(module: ir.Operation, activity: str) -> list[ir.Operation]:
    """The blocks that have an activity: one in the tree of the fields, one in each tree of their
    derivatives."""
    return [op for op in tree_operations(module) if is_sparse(op) and activity_of(op) == activity]


def blocks_by_activity(module: ir.Operation) -> dict[str, ir.Operation]:
    """The sparse blocks of a module, by the fields of their activity: of several with one, the
    first, that of the fields themselves."""
    blocks: dict[str, ir.Operation] = {}
    for op in tree_operations(module):
        if is_sparse(op):
            blocks.setdefault(activity_of(op), op)
    return blocks


def _problem(op: ir.Operation, *, of_lists: bool = False, only_lists: bool = False) -> str | None:
    """Return what is wrong if the block is not there, of another kind, or has other indices."""
    if not isinstance(op.attributes["activity"], ir.FlatSymbolRefAttr):
        return f"{op.attributes['activity']} is not the name of a block's activity"
    module = module_of(op)
    name = block_named(op)
    if any(problem_of(tree) is not None for tree in tree_operations(module)):
        return None  # reported there
    blocks = blocks_of(module, name)
    if not blocks:
        return f"no block of this module has the activity @{name}"
    if only_lists and blocks[0].name != DYNAMIC:
        return f"the block of @{name} is a '{blocks[0].name}', expected a '{DYNAMIC}'"
    is_list = of_lists and blocks[0].name == DYNAMIC
    around = [b for b in trees_around(blocks[0]) if b.name != "snode.root"]
    rank = len(extents_of(around if is_list else [blocks[0], *around]))
    if len(op.operands) != rank:
        return f"{len(op.operands)} indices for a block of {rank} axes"
    return None
