"""The test of a loop over active cells: all that the loop does is done where a cell is active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_load, split_access
from mlirad.dialect.field_layout import Kind, path_to, read_block
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Memref, Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.structured import Parallel, is_branch
from mlirad.ir.walk import (
    array_root,
    block_operations,
    conjuncts,
    constant_integer,
    defining_op,
    operations,
)

_CASTS = (Arith.INDEX_CAST, Arith.INDEX_CASTUI, Arith.EXTSI)


class Part(NamedTuple):
    """`(index + shift) // width` of an axis of a loop; of no axis, 0."""

    axis: int | None
    shift: int
    width: int


class Guard(msgspec.Struct, frozen=True):
    """A test: of the cell of a block, or of a list's block that the item is one of the list. `cell`
    are the indices of the field of activity."""

    condition: ir.Value
    load: ir.Operation
    block: ir.Operation
    cell: tuple[Part, ...]
    item: Part | None

    @property
    def activity(self) -> str:
        """The field of activity."""
        return str(array_root(split_access(self.load)[0]))


def guard_of(box: Parallel, blocks: Mapping[str, ir.Operation]) -> Guard | None:
    """The test of the innermost block under which all effects of a loop are, or None. `blocks`: by
    the fields of their activity."""
    body = block_operations(box.body)
    guards = [
        guard
        for op in body
        if is_load(op) and array_root(split_access(op)[0]) in blocks
        for guard in _guards(box, op, blocks[str(array_root(split_access(op)[0]))])
        if _holds_all_effects(body, guard.condition)
    ]
    return max(guards, key=lambda guard: len(path_to(guard.block)), default=None)


def _guards(box: Parallel, load: ir.Operation, block: ir.Operation) -> list[Guard]:
    cell = [_cell_axis(box, index) for index in split_access(load)[1]]
    if any(cell_axis is None for cell_axis in cell):
        return []
    cell_axes = tuple(cell_axis for cell_axis in cell if cell_axis is not None)
    axes = [cell_axis.axis for cell_axis in cell_axes if cell_axis.axis is not None]
    if len(set(axes)) != len(axes):
        return []
    is_list = read_block(block).kind is Kind.DYNAMIC
    guards = []
    for use in load.results[0].uses:
        test = use.owner.operation
        if test.name != Arith.CMPI:
            continue
        item = _item(box, test, load.results[0]) if is_list else None
        if item is not None if is_list else _is_test_of_byte(test):
            guards.append(Guard(test.results[0], load, block, cell_axes, item))
    return guards


def _is_test_of_byte(test: ir.Operation) -> bool:
    is_equal = b.predicate_of(test) == b.EQ
    return is_equal and constant_integer(test.operands[1]) == 1


def _item(box: Parallel, test: ir.Operation, length: ir.Value) -> Part | None:
    """The number in the list that is compared to its length."""
    predicate = b.predicate_of(test)
    left, right = test.operands
    if (predicate, left) == (b.SGT, length):
        return _cell_axis(box, right)
    return _cell_axis(box, left) if (predicate, right) == (b.SLT, length) else None


def _cell_axis(box: Parallel, value: ir.Value) -> Part | None:
    """An index of a field of activity, as a part of an axis of the loop."""
    if constant_integer(value) == 0:
        return Part(None, 0, 1)
    if value in box.indices:
        return Part(box.indices.index(ir.BlockArgument(value)), 0, 1)
    op = defining_op(value)
    if op is None:
        return None
    if op.name in _CASTS:
        return _cell_axis(box, op.operands[0])
    constant = constant_integer(op.operands[1]) if len(op.operands) == 2 else None
    inner = None if constant is None else _cell_axis(box, op.operands[0])
    if inner is None or constant is None:
        return None
    if op.name == Arith.DIVUI:
        return inner._replace(width=inner.width * constant)
    if inner.width == 1 and op.name in (Arith.ADDI, Arith.SUBI):
        return inner._replace(
            shift=inner.shift + (constant if op.name == Arith.ADDI else -constant)
        )
    return None


def _holds_all_effects(body: Sequence[ir.Operation], condition: ir.Value) -> bool:
    return all(_is_pure(op) or _is_under(op, condition) for op in body)


def _is_under(op: ir.Operation, condition: ir.Value) -> bool:
    if not is_branch(op) or condition not in conjuncts(op.operands[0]):
        return False
    otherwise = [inner for block in op.regions[1].blocks for inner in block_operations(block)]
    return all(_is_pure(inner) for inner in otherwise)


def _is_pure(op: ir.Operation) -> bool:
    if is_branch(op):
        return all(_is_pure(inner) for inner in operations(op))
    plain = is_arithmetic(op) or op.name in (Scf.REDUCE, Scf.YIELD)
    return plain or is_load(op) or GetOp.holds(op) or op.name == Memref.LOAD
