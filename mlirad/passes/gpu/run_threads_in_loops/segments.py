"""The code of the threads of a block, cut into segments: a segment is what they do between two
points at which they wait for one another, and is a loop over them.

A loop or branch that holds such a point runs once for the whole block. All threads compute its
bounds or its condition, and have to agree. (Stratton, Stone, Hwu: MCUDA, LCPC 2008.)
"""

from collections.abc import Iterable, Sequence

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.gpu.blocks import WARP, number_in_block, shuffle_mode
from mlirad.ir.gpu.thread_loops import Box, BoxLoop
from mlirad.ir.ops import Gpu, Scf
from mlirad.ir.pure_operations import is_pure
from mlirad.ir.requirements import refuse
from mlirad.ir.structured import For, If, While
from mlirad.ir.walk import at_end, before, block_operations, constant_integer, operations
from mlirad.passes.gpu.run_threads_in_loops.agreement import refuse_what_differs, require_agreement
from mlirad.passes.gpu.run_threads_in_loops.block_reduction import reduce_over_threads
from mlirad.passes.gpu.run_threads_in_loops.thread_buffers import ThreadBuffers, write

THREAD_ID, BARRIER, REDUCTION = Gpu.THREAD_ID, Gpu.BARRIER, Gpu.ALL_REDUCE
SHUFFLE = Gpu.SHUFFLE

Kept = tuple[ir.Value, ir.Value]  # a value, and the buffer that it is written to


class Segments:
    """The segments of a kernel, and the buffers of what its blocks' loops and branches carry."""

    def __init__(self, shared: Iterable[ir.Value], threads: Box, buffers: ThreadBuffers) -> None:
        self.loops: list[BoxLoop] = []
        self.kept: dict[ir.Value, ir.Value] = {}
        self._threads, self._buffers = threads, buffers
        self._shared = set(shared)  # the same for all threads, and computed outside of segments
        self._done: list[ir.Operation] = []

    def cut(self, body: Sequence[ir.Operation], end: ir.Operation) -> None:
        """Have operations done by all threads of a block, in front of another operation."""
        self._flush(self._cut(body, end), end)

    def erase_what_is_cut(self) -> None:
        """Erase the operations at which threads waited: nothing uses their results any more."""
        for op in self._done:
            op.erase()

    def _cut(self, body: Sequence[ir.Operation], end: ir.Operation) -> list[ir.Operation]:
        """Have operations done up to the last point at which threads wait; the rest of them."""
        pending: list[ir.Operation] = []
        for op in body:
            if _waits(op):
                self._run_together(op, pending, end)
                self._done.append(op)
                pending = self._read_shuffled(op) if op.name == SHUFFLE else []
            elif is_pure(op) and self._shared.issuperset(op.operands):
                op.move_before(end)
                self._shared.update(op.results)
            else:
                pending.append(op)
        return pending

    def _flush(
        self, pending: Sequence[ir.Operation], end: ir.Operation, kept_values: Sequence[Kept] = ()
    ) -> None:
        """Make a segment of operations, which keeps some values at its end."""
        if not pending and not kept_values:
            return
        loop = self._threads.loop(end)
        for op in pending:
            op.move_before(loop.end)
        with before(loop.end):
            for value, buffer in kept_values:
                write(value, buffer, loop.number)
        self.loops.append(loop)

    def _agree(
        self,
        values: Sequence[ir.Value],
        op: ir.Operation,
        pending: Sequence[ir.Operation],
        end: ir.Operation,
        kept_values: Sequence[Kept] = (),
    ) -> list[ir.Value]:
        """Make a segment; after it, values that an operation needs for all threads at once."""
        asked = {}
        for value in values:
            if value not in self._shared:
                refuse_what_differs(value, op, (THREAD_ID,))
                asked[value] = self._buffers.make(value.type, op)
        self._flush(pending, end, [*kept_values, *asked.items()])
        with ir.InsertionPoint(end), op.location:
            count = self._threads.count
            return [require_agreement(asked[v], count, op) if v in asked else v for v in values]

    # Operations at which threads wait, or within which.

    def _run_together(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> None:
        if op.name not in _RUNNERS:
            refuse(op, f"threads wait for one another within '{op.name}'")
        _RUNNERS[op.name](self, op, pending, end)

    def _wait(self, _: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation) -> None:
        self._flush(pending, end)

    def _reduce(self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation) -> None:
        buffer = self._buffers.make(op.operands[0].type, op)
        self._flush(pending, end, [(op.operands[0], buffer)])
        with ir.InsertionPoint(end), op.location:
            result = reduce_over_threads(op, buffer, self._threads.count)
        op.results[0].replace_all_uses_with(result)
        self._shared.add(result)

    def _shuffle(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> None:
        if shuffle_mode(op) not in ("idx", "xor") or constant_integer(op.operands[2]) != WARP:
            refuse(op, "a shuffle by other numbers than those of threads of a warp")
        self._shuffled = self._buffers.make(op.operands[0].type, op)
        self._flush(pending, end, [(op.operands[0], self._shuffled)])

    def _read_shuffled(self, op: ir.Operation) -> list[ir.Operation]:
        """The operations, in front of a shuffle, that read what it gives."""
        first = len(block_operations(op.block))
        with before(op):
            number = number_in_block(self._threads.extents)
            other = b.to_index(op.operands[1])
            if shuffle_mode(op) == "xor":
                place = b.xori(number, other)
            else:
                place = b.add(b.mul(b.div(number, b.index(WARP)), b.index(WARP)), other)
            value, always = b.read(self._shuffled, [place]), b.number(1, b.integer_type(1))
        for result, new in zip(op.results, (value, always)):
            result.replace_all_uses_with(new)
        there = block_operations(op.block)
        at = there.index(op)
        return there[at - (len(there) - first) : at]

    def _run_for(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> None:
        loop, bounds, initial = For(op), list(op.operands)[:3], list(op.operands)[3:]
        carried = self._make_buffers(initial, op)
        kept_values = [*zip(initial, carried)]
        lower, upper, step = self._agree(bounds, op, pending, end, kept_values)
        with before(end):
            together = b.for_loop(lower, upper, step)
        loop.induction.replace_all_uses_with(together.induction)
        self._shared.add(together.induction)
        self._keep(loop.carried, carried)
        self._keep(op.results, carried)
        self._run_region(loop.body, together.body, carried)

    def _run_branch(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> None:
        results = self._make_buffers(op.results, op)
        (condition,) = self._agree([op.operands[0]], op, pending, end)
        branches = If(op).blocks
        with before(end):
            together = b.if_else(condition, [], with_else=len(branches) > 1)
        self._keep(op.results, results)
        for branch, new in zip(branches, together.blocks):
            self._run_region(branch, new, results)

    def _run_while(
        self, op: ir.Operation, pending: Sequence[ir.Operation], end: ir.Operation
    ) -> None:
        loop = While(op)
        carried, passed = self._make_buffers(op.operands, op), self._make_buffers(op.results, op)
        self._flush(pending, end, [*zip(op.operands, carried)])
        with before(end):
            unknown = b.number(0, b.integer_type(1))
            together = b.while_loop([])
        self._keep(loop.before.arguments, carried)
        self._keep(loop.after.arguments, passed)
        self._keep(op.results, passed)
        with at_end(together.before, op.location):
            b.go_on_if(unknown)
        go_on, (*body, last) = block_operations(together.before)[-1], block_operations(loop.before)
        condition, *values = last.operands
        pending = self._cut(body, go_on)
        (go_on.operands[0],) = self._agree([condition], op, pending, go_on, [*zip(values, passed)])
        last.erase()
        self._run_region(loop.after, together.after, carried)

    def _run_region(self, block: ir.Block, together: ir.Block, buffers: Sequence[ir.Value]) -> None:
        """Run a block that ends in a yield, whose operands are kept."""
        *body, last = block_operations(block)
        with at_end(together, last.location):
            b.yield_()
        end = block_operations(together)[-1]
        kept_values = [*zip(last.operands, buffers)]
        self._flush(self._cut(body, end), end, kept_values)
        last.erase()

    def _make_buffers(self, values: Iterable[ir.Value], op: ir.Operation) -> list[ir.Value]:
        return [self._buffers.make(value.type, op) for value in values]

    def _keep(self, values: Iterable[ir.Value], buffers: Sequence[ir.Value]) -> None:
        self.kept.update(zip(values, buffers))


_RUNNERS = {
    BARRIER: Segments._wait,
    REDUCTION: Segments._reduce,
    SHUFFLE: Segments._shuffle,
    Scf.FOR: Segments._run_for,
    Scf.IF: Segments._run_branch,
    Scf.WHILE: Segments._run_while,
}


def _waits(op: ir.Operation) -> bool:
    """Return whether threads wait for one another at an operation, or within."""
    waiting = (BARRIER, REDUCTION, SHUFFLE)
    return op.name in waiting or any(inner.name in waiting for inner in operations(op))
