"""The code of the threads of a block, cut into segments: a segment is what they do between two
points at which they wait for one another, and is a loop over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mlirad.bindings import ir
from mlirad.dialect.field import GROUP, BallotOp, DimOp, GetOp, ShuffleOp, SyncOp
from mlirad.ir import build as b
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_integer_division, is_pure
from mlirad.ir.requirements import refuse
from mlirad.ir.structured import For, If, While, is_for
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    constant_integer,
    is_defined_in,
    operations,
    owner_operation,
)
from mlirad.passes.loops.lower_block_loops.segment_loops import SegmentLoops
from mlirad.passes.loops.lower_block_loops.unequal_loops import as_while


class Segments:
    """The segments of a block, and the arrays of what its loops and branches carry."""

    def __init__(self, loops: SegmentLoops, source: ir.Operation) -> None:
        self.loops, self.source = loops, source
        self.block, self.arrays = loops.block, loops.arrays
        self.array_of: dict[ir.Value, ir.Value] = {}
        self._shared: set[ir.Value] = set()  # computed outside of segments

    def cut(self, body: Sequence[ir.Operation], end: ir.Operation) -> None:
        """Have operations done by all threads of a block, in front of another operation."""
        self.loops.make(self._cut(body, end), end)

    def is_shared(self, value: ir.Value) -> bool:
        """Return whether a value is the same for all threads, and computed outside of segments."""
        return value in self._shared or not (
            is_defined_in(value, self.source) or is_defined_in(value, self.block.loop)
        )

    def _cut(self, body: Sequence[ir.Operation], end: ir.Operation) -> list[ir.Operation]:
        """Have operations done up to the last point at which threads wait; return those behind."""
        pending: list[ir.Operation] = []
        for op in body:
            if waits(op):
                if is_for(op) and not all(map(self.is_shared, list(op.operands)[:3])):
                    op = as_while(op)
                pending = self._run_together(op, pending, end)
            elif _may_move(op) and all(map(self.is_shared, op.operands)):
                op.move_before(end)
                self._shared.update(op.results)
            else:
                pending.append(op)
        return pending

    # Operations at which threads wait, or within which: each returns what is done behind it.

    def _run_together(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        if op.name not in _RUNNERS:
            refuse(op, f"threads wait for one another within '{op.name}'")
        return _RUNNERS[op.name](self, op, pending, end)

    def _wait(
        self, _: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        self.loops.make(pending, end)
        return []

    def _shuffle(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        value, lane = op.operands
        array = self.arrays.make(value.type, op)
        self.loops.make(pending, end, [(value, array)])
        first = len(block_operations(op.block))
        with before(op):
            place = b.add(_group_start(self.block.thread), lane)
            result = self.arrays.load(array, place)
        op.results[0].replace_all_uses_with(result)
        return operations_added(op, first)

    def _ballot(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        array = self.arrays.make(op.operands[0].type, op)
        self.loops.make(pending, end, flag=(op.operands[0], array))
        first = len(block_operations(op.block))
        with before(op):
            start = _group_start(self.block.thread)
            zero = b.number(0, b.integer_type(32))
            lanes = b.for_loop(b.index(0), b.index(GROUP), b.index(1), [zero])
            with at_end(lanes.body, op.location):
                holds = self.arrays.load(array, b.add(start, lanes.induction))
                bit = b.shli(b.extui(holds, zero.type), b.index_cast(lanes.induction, zero.type))
                b.yield_([b.ori(lanes.carried[0], bit)])
        op.results[0].replace_all_uses_with(lanes.results[0])
        return operations_added(op, first)

    def _run_for(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        bounds, initial = list(op.operands)[:3], list(op.operands)[3:]
        loop, carried = For(op), self._make_arrays(initial, op)
        self.loops.make(pending, end, [*zip(initial, carried)])
        with before(end):
            together = b.for_loop(bounds[0], bounds[1], bounds[2])
        loop.induction.replace_all_uses_with(together.induction)
        self._shared.add(together.induction)
        self._keep(loop.carried, carried)
        self._keep(op.results, carried)
        self._run_region(loop.body, together.body, carried)
        return []

    def _run_branch(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        condition, branches = op.operands[0], If(op).blocks
        results = self._make_arrays(op.results, op)
        self._keep(op.results, results)
        if self.is_shared(condition):
            self.loops.make(pending, end)
            with before(end):
                together = b.if_else(condition, [], with_else=len(branches) > 1)
            for branch, new in zip(branches, together.blocks):
                self._run_region(branch, new, results)
            return []
        masks = self._make_arrays([condition] * len(branches), op)
        self.loops.make(pending, end, flag=(condition, masks[0]))
        if len(branches) > 1:
            first = len(block_operations(op.block))
            with before(op):
                opposite = b.xori(condition, b.number(1, condition.type))
            self.loops.make(operations_added(op, first), end, flag=(opposite, masks[1]))
        for branch, mask in zip(branches, masks):
            *body, last = block_operations(branch)
            with_results = [*zip(last.operands, results)]
            with self.loops.masked(mask):
                self.loops.make(self._cut(body, end), end, with_results)
        return []

    def _run_while(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> list[ir.Operation]:
        loop = While(op)
        carried, passed = self._make_arrays(op.operands, op), self._make_arrays(op.results, op)
        with before(end):
            always = b.number(1, b.integer_type(1))
        mask = self.arrays.make(always.type, op)
        self.loops.make(pending, end, [*zip(op.operands, carried)], flag=(always, mask))
        with before(end):
            together = b.while_loop([])
        self._keep(loop.before.arguments, carried)
        self._keep(loop.after.arguments, passed)
        self._keep(op.results, passed)
        with at_end(together.before, op.location):
            go_on = b.number(0, b.integer_type(1))
            b.go_on_if(go_on)
        end_of_test, (*body, last) = (
            block_operations(together.before)[-1],
            block_operations(loop.before),
        )
        condition, *values = last.operands
        with self.loops.masked(mask):
            pending = self._cut(body, end_of_test)
            self.loops.make(pending, end_of_test, [*zip(values, passed)], flag=(condition, mask))
            with before(end_of_test):
                end_of_test.operands[0] = self.loops.any(mask)
            owner_operation(go_on).erase()
            self._run_region(loop.after, together.after, carried)
        return []

    def _run_region(self, block: ir.Block, together: ir.Block, arrays: Sequence[ir.Value]) -> None:
        """Run a block that ends in a yield, whose operands are kept."""
        *body, last = block_operations(block)
        with at_end(together, last.location):
            b.yield_()
        end = block_operations(together)[-1]
        self.loops.make(self._cut(body, end), end, [*zip(last.operands, arrays)])

    def _make_arrays(self, values: Iterable[ir.Value], op: ir.Operation) -> list[ir.Value]:
        return [self.arrays.make(value.type, op) for value in values]

    def _keep(self, values: Iterable[ir.Value], arrays: Sequence[ir.Value]) -> None:
        self.array_of.update(zip(values, arrays))


Runner = Callable[
    [Segments, ir.Operation, Sequence[ir.Operation], ir.Operation], list[ir.Operation]
]
_RUNNERS: dict[str, Runner] = {
    SyncOp.OPERATION_NAME: Segments._wait,
    ShuffleOp.OPERATION_NAME: Segments._shuffle,
    BallotOp.OPERATION_NAME: Segments._ballot,
    Scf.FOR: Segments._run_for,
    Scf.IF: Segments._run_branch,
    Scf.WHILE: Segments._run_while,
}


def operations_added(op: ir.Operation, count: int) -> list[ir.Operation]:
    """The operations that were put in front of an op, in a block that had so many before."""
    there = block_operations(op.block)
    at = there.index(op)
    return there[at - (len(there) - count) : at]


def _group_start(thread: ir.Value) -> ir.Value:
    """The number of the first thread of a thread's group, at the insertion point."""
    return b.mul(b.div(thread, b.index(GROUP)), b.index(GROUP))


def _may_move(op: ir.Operation) -> bool:
    """Return whether an op gives the same everywhere, and does no harm where it was not done."""
    if GetOp.holds(op) or DimOp.holds(op):
        return True
    if is_integer_division(op):
        return bool(constant_integer(op.operands[1]))
    return is_pure(op)


_WAITS = (SyncOp.OPERATION_NAME, ShuffleOp.OPERATION_NAME, BallotOp.OPERATION_NAME)


def waits(op: ir.Operation) -> bool:
    """Return whether threads wait for one another at an operation, or within."""
    return op.name in _WAITS or any(inner.name in _WAITS for inner in operations(op))
