"""The addends of a sum: followed through additions, branches and loops that carry it."""

from __future__ import annotations

from typing import NamedTuple

from mlirad.analysis.zero_guards import guarded_sum
from mlirad.bindings import ir
from mlirad.ir.marks.rounding import is_bound
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.structured import For, If, is_branch, is_for
from mlirad.ir.walk import block_operations, defining_op, enclosing, users_of


class Addend(NamedTuple):
    """A value that is added, or taken away, by an op; it counts as 0 where the product of the
    `witness` is a NaN and the first of these is 0."""

    value: ir.Value
    at: ir.Operation
    is_negative: bool
    witness: tuple[ir.Value, ir.Value] | None = None


def update_step(store: ir.Operation) -> tuple[ir.Operation, ir.Value, bool] | None:
    """The load of an update, what it adds, and whether it takes that away."""
    step = defining_op(store.operands[0])
    if step is None or step.name not in (Arith.ADDF, Arith.SUBF) or is_bound(step):
        return None
    element = list(store.operands)[1:]
    for position, operand in enumerate(step.operands):
        load = defining_op(operand)
        if load is None or load.name != Memref.LOAD or load.block != store.block:
            continue
        one_use = len(list(operand.uses)) == 1 and len(list(step.results[0].uses)) == 1
        is_negative = step.name == Arith.SUBF
        if list(load.operands) == element and one_use and not (is_negative and position):
            return load, step.operands[1 - position], is_negative
    return None


def loop_addends(loop: ir.Operation, position: int) -> list[Addend] | None:
    """Return the terms that a loop adds to what it carries at a position, with their places; None
    if it does anything else with it."""
    carried, end = For(loop).carried[position], block_operations(For(loop).body)[-1]
    if not _is_only_added_to(carried):
        return None
    return chain_addends(end.operands[position], carried, end)


def yielded_value(loop: ir.Operation, position: int) -> ir.Value:
    """Return the value that an iteration passes on."""
    return block_operations(For(loop).body)[-1].operands[position]


def chain_addends(value: ir.Value, carried: ir.Value, at: ir.Operation) -> list[Addend] | None:
    if value == carried:
        return []
    op = defining_op(value)
    if op is None or is_bound(op) or not _is_only_added_to(value):
        return None
    if is_branch(op):
        then, passed = branch_values(value)
        earlier = chain_addends(passed, carried, op)
        inner = chain_addends(then, passed, block_operations(If(op).then)[-1])
        return None if earlier is None or inner is None else [*earlier, *inner]
    if op.name in (Arith.ADDF, Arith.SUBF):
        left, right = op.operands
        sides = [(left, right)] if op.name == Arith.SUBF else [(left, right), (right, left)]
        for side, other in sides:
            earlier = chain_addends(side, carried, op)
            if earlier is not None:
                return [*earlier, *value_addends(other, op, op.name == Arith.SUBF)]
        return None
    if is_for(op):
        position = ir.OpResult(value).result_number
        earlier, inner = (
            chain_addends(op.operands[3 + position], carried, op),
            loop_addends(op, position),
        )
        return None if earlier is None or inner is None else [*earlier, *inner]
    return None


def branch_values(value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return the values of a result of a branch if its condition holds, and if it does not."""
    position, branch = ir.OpResult(value).result_number, If(ir.OpResult(value).owner.operation)
    then, otherwise = (block_operations(block)[-1].operands[position] for block in branch.blocks)
    return then, otherwise


def _is_only_added_to(value: ir.Value) -> bool:
    """Return whether a value has one use, except those that pass it by a branch."""
    users = users_of(value)
    passed = [op for op in users if is_branch(enclosing(op)) and _ends_otherwise(op)]
    return len(users) - len(passed) == 1 or (len(users) == 1 and bool(passed))


def _ends_otherwise(op: ir.Operation) -> bool:
    blocks = If(enclosing(op)).blocks
    return len(blocks) > 1 and op == block_operations(blocks[1])[-1]


def value_addends(value: ir.Value, at: ir.Operation, is_negative: bool) -> list[Addend]:
    """Return the terms of a value that an op adds or subtracts: the value itself if it is not a
    sum."""
    op = defining_op(value)
    if op is None or is_bound(op) or len(list(value.uses)) != 1:
        return [Addend(value, at, is_negative)]
    if op.name == Arith.NEGF:
        return value_addends(op.operands[0], at, not is_negative)
    guarded = guarded_sum(op)
    if guarded is not None:
        addends = value_addends(guarded.value, at, is_negative)
        if any(addend.witness is not None for addend in addends):
            return [Addend(value, at, is_negative)]
        return [addend._replace(witness=guarded.witness) for addend in addends]
    if op.name not in (Arith.ADDF, Arith.SUBF):
        return [Addend(value, at, is_negative)]
    flips = is_negative != (op.name == Arith.SUBF)
    left, right = op.operands
    return [*value_addends(left, at, is_negative), *value_addends(right, at, flips)]
