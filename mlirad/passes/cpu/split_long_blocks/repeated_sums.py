"""Sums of a value and a constant, made again where they are used: the elements beside one that many
lanes access. A piece that is handed the value has the constants in its addresses; else it is handed
each sum."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.ir.ops import Arith
from mlirad.ir.walk import before, constant_integer, defining_op, has_uses
from mlirad.passes.cpu.split_long_blocks.block_values import BlockValues


def repeat_sums(ops: Sequence[ir.Operation], near: int) -> list[ir.Operation]:
    """Let the uses of such sums in a block have their own, if they are not `near` them, in number
    of ops; return the ops of the block."""
    values = BlockValues(ops)
    added: dict[int, list[ir.Operation]] = {}
    unused = set[int]()
    for number in reversed(range(len(ops))):
        op = ops[number]
        if not _is_sum(op):
            continue
        sum_there, end = op.results[0], number + near
        for use in sorted(values.uses.get(op.results[0], ()), key=lambda use: use.at):
            if use.at > end:
                with before(ops[use.at]):
                    copy = op.clone().operation
                added.setdefault(use.at, []).append(copy)
                sum_there, end = copy.results[0], use.at + near
                values.note(copy, use.at)
            use.user.operands[use.position] = sum_there
        if not has_uses(op.results[0]):
            unused.add(number)
            op.erase()
    return [
        op
        for number, last in enumerate(ops)
        for op in (*added.get(number, ()), *([] if number in unused else [last]))
    ]


def _is_sum(op: ir.Operation) -> bool:
    """Return whether an op adds a constant to what another op makes."""
    return (
        op.name == Arith.ADDI
        and constant_integer(op.operands[1]) is not None
        and defining_op(op.operands[0]) is not None
    )
