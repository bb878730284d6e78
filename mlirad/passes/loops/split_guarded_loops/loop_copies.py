"""Parts of a loop: copies that run some of its iterations."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import fold
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.reports.remarks import forget_remarks
from mlirad.ir.structured import AT_END, DISTINCT, For, is_serial_loop, runs_in_any_order
from mlirad.ir.walk import (
    at_end,
    attributes_of,
    before,
    block_operations,
    clone,
    constant_integer,
    is_defined_in,
    operations,
)
from mlirad.passes.loops.split_guarded_loops.guards import Stretch


def clip_index(index: int, low: ir.Value, high: ir.Value) -> ir.Value:
    """An index, or the end of a loop that it is outside of."""
    return fold(Arith.MINSI, fold(Arith.MAXSI, b.index(index), low), high)


def copy_loop(loop: ir.Operation, low: ir.Value, high: ir.Value, values: list[ir.Value]) -> For:
    """A copy of a loop with other bounds, which begins with other values."""
    copy = b.for_loop(low, high, b.index(1), values)
    for name, attribute in attributes_of(loop).items():
        copy.op.attributes[name] = attribute
    mapping: dict[ir.Value, ir.Value] = dict(zip(For(loop).body.arguments, copy.body.arguments))
    *ops, end = block_operations(For(loop).body)
    with at_end(copy.body, loop.location):
        for op in ops:
            clone(op, mapping)
        b.yield_([mapping.get(value, value) for value in end.operands])
    return copy


def may_change_order(loop: ir.Operation, fast: bool) -> bool:
    """Return whether a loop without loops in it leaves the same in whichever order its iterations
    run: but for how sums are rounded, if they are to be `fast`."""
    if not runs_in_any_order(loop) or loop.results:
        return False
    loaded = set()
    for op in operations(loop):
        if is_serial_loop(op):
            return False
        if op.name == Memref.LOAD:
            loaded.add(tuple(op.operands))
        elif op.name == Memref.STORE:
            place = tuple(op.operands)[1:]
            is_update = place in loaded
            if not fast and is_update and not _is_own(op.operands[1], loop):
                return False
            if not is_update and not any(is_defined_in(index, loop) for index in place):
                return False  # what the last iteration stores is left
        elif op.name.startswith("memref.") and not fast:
            return False
    return True


def _is_own(memref: ir.Value, loop: ir.Operation) -> bool:
    """Return whether each iteration has elements of its own: one index is that of the loop in all
    accesses."""
    other_uses = [
        list(op.operands)[list(op.operands).index(memref) + 1 :]
        for op in operations(loop)
        if op.name.startswith("memref.") and memref in list(op.operands)
    ]
    return any(set(column) == {For(loop).induction} for column in zip(*other_uses))


def split_in_two(loop: ir.Operation, stretch: Stretch, width: int) -> ir.Operation:
    """Make a parallel loop two: the stretch, as much of it as fills vectors, and all others, which
    run behind it; the one of the stretch."""
    low, high = list(loop.operands)[:2]
    first, behind = low, high
    with before(loop):
        if stretch.first is not None:
            first = clip_index(stretch.first, low, high)
        if stretch.last is not None:
            behind = clip_index(stretch.last + 1, first, high)
        length = fold(Arith.SUBI, behind, first)
        length = fold(Arith.MAXSI, length, b.index(0))
        remainder = fold(Arith.REMUI, length, b.index(width))
        behind = fold(Arith.ADDI, first, fold(Arith.SUBI, length, remainder))
        middle = copy_loop(loop, first, behind, []).op
        _outer_stretches(loop, low, first, behind, high)
    loop.erase()
    return middle


def _outer_stretches(
    loop: ir.Operation, low: ir.Value, first: ir.Value, behind: ir.Value, high: ir.Value
) -> None:
    """The iterations of a loop in front of a stretch, and those behind it."""
    front = fold(Arith.SUBI, first, low)
    over = fold(Arith.SUBI, behind, front)
    count = fold(Arith.ADDI, front, fold(Arith.SUBI, high, behind))
    outer = b.for_loop(b.index(0), count, b.index(1))
    for name, attribute in attributes_of(loop).items():
        outer.op.attributes[name] = attribute
    outer.op.attributes[AT_END] = ir.UnitAttr.get()
    with at_end(outer.body, loop.location):
        index = b.add(over, outer.induction)
        if constant_integer(front) != 0:
            is_in_front = b.compare(b.SLT, outer.induction, front)
            operands = [is_in_front, b.add(low, outer.induction), index]
            distinct = {DISTINCT: ir.UnitAttr.get()}
            index = b.select(*operands, **distinct)
        mapping: dict[ir.Value, ir.Value] = {For(loop).induction: index}
        for op in block_operations(For(loop).body)[:-1]:
            clone(op, mapping)
        b.yield_()
    forget_remarks(outer.op)
