"""Updates of the second element of each pair in a loop, made to the first by the exchanged pair."""

from __future__ import annotations

from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic, atomic_kind, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.marks.rounding import is_bound, round_like
from mlirad.ir.ops import Arith
from mlirad.ir.reports.remarks import remark, shown_array
from mlirad.ir.structured import For
from mlirad.ir.walk import (
    Array,
    accesses,
    array_root,
    attributes_of,
    before,
    block_operations,
    defining_op,
    enclosing,
    has_uses,
    users_of,
)
from mlirad.passes.loops.gather_pair_updates.exchanged_pair import ExchangedPair

_WORTH = 16.0  # operations that an update of a shared element takes
_SUMS = (Arith.ADDF, Arith.SUBF, Arith.ADDI, Arith.SUBI)


def gather(pair: ExchangedPair) -> None:
    """Let the pair's first element get what the second gets, where that pays."""
    updates = [op for op in _free(pair) if pair.can_compute(op.operands[0])]
    if not updates:
        return
    added = pair.compute([op.operands[0] for op in updates])
    if pair.cost() > _WORTH * len(updates):
        pair.take_back()
        return
    names = dict.fromkeys(shown_array(array_root(split_access(op)[0])) for op in updates)
    remark(pair.inner, f"what pairs add to the second element of {', '.join(names)} is gathered")
    for op, value in zip(updates, added):
        if not _joins(pair, op, value):
            _sum(pair, op, value)
    for op in updates:
        op.erase()


def _free(pair: ExchangedPair) -> list[ir.Operation]:
    """The updates of second elements of arrays whose first ones the loop adds to as well, and
    which it does nothing else with."""
    by_array: dict[Array, list[ir.Operation]] = {}
    for op, root, _ in accesses(pair.loop):
        by_array.setdefault(root, []).append(op)
    free_ops: list[ir.Operation] = []
    for ops in by_array.values():
        if not all(map(_is_sum, ops)):
            continue
        seconds = [op for op in ops if enclosing(op) == pair.inner and pair.is_of_second(op)]
        firsts = [op for op in ops if pair.is_of_first(op)]
        if firsts and len(firsts) + len(seconds) == len(ops):
            free_ops += seconds
    return free_ops


def _is_sum(op: ir.Operation) -> bool:
    """Return whether an op adds to an element, in any order."""
    return (
        is_atomic(op)
        and atomic_kind(op) == AtomicKind.ADD
        and not has_uses(op.results[0])
        and not is_bound(op)
    )


def _joins(pair: ExchangedPair, op: ir.Operation, value: ir.Value) -> bool:
    """Add to a sum that the loop carries to the same element, if there is one."""
    inner = For(pair.inner)
    end = block_operations(inner.body)[-1]
    for carried, result, total in zip(inner.carried, inner.results, list(end.operands)):
        step = defining_op(total)
        if step is None or step.name not in _SUMS or is_bound(step):
            continue
        update = _only_user(result)
        if (
            step.operands[0] == carried
            and _only_user(carried) == step
            and _only_user(total) == end
            and update is not None
            and enclosing(update) == pair.loop
            and _is_sum(update)
            and _is_at(update, op, pair)
        ):
            if step.name in _SUMS[::2] and step.operands[1] == value:
                with before(step):
                    step.operands[1] = _plus(value, value, op)
            else:
                with before(end):
                    end.operands[carried.arg_number - 1] = _plus(total, value, op)
            return True
    return False


def _is_at(update: ir.Operation, op: ir.Operation, pair: ExchangedPair) -> bool:
    """Return whether an update is of the element that the exchanged pair adds to."""
    array, places = split_access(update)
    return array_root(array) == array_root(split_access(op)[0]) and all(
        linear_form(place) == linear_form(other) for place, other in zip(places, pair.element(op))
    )


def _only_user(value: ir.Value) -> ir.Operation | None:
    users = users_of(value)
    return users[0] if len(users) == 1 else None


def _sum(pair: ExchangedPair, op: ir.Operation, value: ir.Value) -> None:
    """Add up in a slot, and update the first element behind the loop."""
    marks = attributes_of(op)
    del marks["kind"]
    with before(pair.inner):
        slot = b.slot(value.type)
        b.write(b.number(0, value.type), slot)
    with before(block_operations(For(pair.inner).body)[-1]):
        b.write(_plus(b.read(slot), value, op), slot)
    with ir.InsertionPoint.after(pair.inner), op.location:
        atomic(b.read(slot), split_access(op)[0], pair.element(op), AtomicKind.ADD, marks)


def _plus(total: ir.Value, value: ir.Value, op: ir.Operation) -> ir.Value:
    return round_like(b.combine(AtomicKind.ADD, total, value), op)
