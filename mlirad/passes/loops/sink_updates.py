"""Move updates of one element that a serial loop makes again and again behind it: what they come to
is in a register meanwhile.

Assumes that a loop, where it does no more to an array than to update elements by one kind whose
results nobody uses, may do it in any order: updates that are marked as exact stay. A loop that runs
no update of an element does not touch it, for its index may then be out of bounds. What the updates
come to is in slots, for `mem2reg`.
"""

from __future__ import annotations

from mlirad.analysis.trips import certainly_runs
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic, atomic_kind, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import free_loops
from mlirad.ir.marks.rounding import is_exact
from mlirad.ir.reductions import REDUCE_MARK, Reduction, accumulators
from mlirad.ir.requirements import KERNELS
from mlirad.ir.structured import is_for, is_serial_loop
from mlirad.ir.walk import (
    Array,
    accesses,
    at_end,
    attributes_of,
    before,
    enclosing,
    functions,
    has_uses,
    is_defined_in,
    operations,
)

REQUIRES = KERNELS


def sink_updates(module: ir.Operation) -> None:
    """Let serial loops inside parallel loops sum their updates of an element in registers."""
    for function in functions(module):
        boxes = free_loops(operations(function))
        loops = [op for box in boxes for op in operations(box) if is_serial_loop(op)]
        for loop in reversed(loops):  # inner ones first
            for updates in _sinkable(loop):
                _sink(loop, updates)


def _sinkable(loop: ir.Operation) -> list[list[ir.Operation]]:
    """The updates of each element that may wait until a loop has ended."""
    by_array: dict[Array, list[ir.Operation]] = {}
    for op, root, _ in accesses(loop):
        by_array.setdefault(root, []).append(op)
    unnamed = sum(not isinstance(root, str) for root in by_array)
    updates_of: dict[tuple[Array, tuple[ir.Value, ...]], list[ir.Operation]] = {}
    for root, ops in by_array.items():
        if not _is_one_sum(ops) or (unnamed > 1 and not isinstance(root, str)):
            continue
        for op in ops:
            array, indices = split_access(op)
            if not any(is_defined_in(value, loop) for value in (array, *indices)):
                updates_of.setdefault((root, tuple(indices)), []).append(op)
    return list(updates_of.values())


def _is_one_sum(ops: list[ir.Operation]) -> bool:
    """Return whether accesses of an array are updates of one kind, in any order."""
    if not all(is_atomic(op) and not has_uses(op.results[0]) for op in ops):
        return False
    kinds = {atomic_kind(op) for op in ops}
    marked = any(REDUCE_MARK in op.attributes or is_exact(op) for op in ops)
    return len(kinds) == 1 and kinds != {AtomicKind.EXCHANGE} and not marked


def _sink(loop: ir.Operation, updates: list[ir.Operation]) -> None:
    """Leave a register where updates were, and update the element behind the loop."""
    first = updates[0]
    array, indices = split_access(first)
    kind, marks = atomic_kind(first), attributes_of(first)
    del marks["kind"]
    sum_ = Reduction(kind, array, indices, first.operands[0].type, updates)
    runs_with_loop = is_for(loop) and any(enclosing(op) == loop for op in updates)
    with before(loop):
        slot = accumulators([sum_])[0]
        ran = None if runs_with_loop else b.slot(b.integer_type(1))
        if ran is not None:
            b.write(b.number(0, b.integer_type(1)), ran)
    end = ir.InsertionPoint.after(loop)
    for op in updates:
        with before(op):
            b.write(sum_.combine(b.read(slot), op.operands[0]), slot)
            if ran is not None:
                b.write(b.number(1, b.integer_type(1)), ran)
    with end, first.location:
        if ran is None and certainly_runs(loop):
            atomic(b.read(slot), array, indices, kind, marks)
        else:
            runs = b.compare(b.SLT, *loop.operands[:2]) if ran is None else b.read(ran)
            with at_end(b.if_else(runs, [], with_else=False).then, first.location):
                atomic(b.read(slot), array, indices, kind, marks)
                b.yield_()
    for op in updates:
        op.erase()
