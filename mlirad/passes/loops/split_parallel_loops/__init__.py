"""Cut every parallel loop into chunks: a private function over a range of one axis, called for all
of it where the work is small. Reductions live in registers, in blocks, and are added over the
chunks in order.

A loop that does little beside updates which its threads would share stays on one, where they are
plain. There are several chunks a thread where each of them is worth it: threads take them as they
come by, so that nobody waits long for one that has no processor.
"""

from collections.abc import Callable
from math import prod

from mlirad.analysis.trips import UNKNOWN, spans
from mlirad.bindings import ir
from mlirad.dialect.field import ChunkOp, atomic
from mlirad.ir import build as b
from mlirad.ir.limits import Threads, Worth
from mlirad.ir.marks.rounding import update_marks
from mlirad.ir.reductions import PLAIN_MARK, Reduction, find_reductions
from mlirad.ir.reports.loop_names import symbol_suffix
from mlirad.ir.requirements import KERNELS, symbol_of
from mlirad.ir.structured import Parallel, is_for, is_parallel, is_while
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    captured_values,
    copy_with,
    functions,
    is_defined_in,
    operations,
)
from mlirad.passes.loops.split_parallel_loops.chunk import Chunk, is_made_again
from mlirad.passes.loops.split_parallel_loops.shared_updates import is_faster_alone, shared_updates

REQUIRES = KERNELS
_CHUNKS_A_THREAD = 4


def split_parallel_loops(
    module: ir.Operation, *, threads: Threads = 1, worth: Worth = 100_000
) -> None:
    """Outline parallel loops as functions of a chunk, which one thread calls, or several threads
    share.

    A loop of fewer operations than `worth` is not worth waking threads for.
    """
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        for number, loop in enumerate(loops):
            name = f"{symbol_of(function)}.chunk{number}{symbol_suffix(loop, '.')}"
            _Split(module, function, loop, name, threads, worth).run()


class _Split:
    def __init__(
        self,
        module: ir.Operation,
        function: ir.Operation,
        loop: ir.Operation,
        name: str,
        threads: int,
        worth: int,
    ) -> None:
        self.module, self.function, self.loop, self.name, self.threads = (
            module,
            function,
            loop,
            name,
            threads,
        )
        self.worth = worth
        box = Parallel(loop)
        self.body, self.rank = box.body, box.rank
        self.axis = (
            ir.IntegerAttr(loop.attributes["field.axis"]).value
            if "field.axis" in loop.attributes
            else 0
        )
        self.lower, self.upper, self.steps = box.lower, box.upper, box.steps
        self.spans = spans(loop)
        self.reductions = find_reductions(loop)
        self.chunk = Chunk(box, self.axis, self.reductions)

    def run(self) -> None:
        """Replace the loop."""
        self._go_alone_where_faster()
        captured = captured_values(self.loop)
        outside = [v for v in captured if not is_made_again(v)]
        bounds = [
            v
            for axis in range(self.rank)
            if axis != self.axis
            for v in (self.lower[axis], self.upper[axis])
        ]
        bounds = [v for v in bounds if not is_made_again(v)]
        arguments = list(
            dict.fromkeys([*outside, *bounds, *(s for s in self.steps if not is_made_again(s))])
        )
        with before(self.loop):
            totals = self._dispatch(arguments)
            for reduction, total in zip(self.reductions, totals):
                atomic(
                    total,
                    self._visible(reduction.array),
                    [self._visible(index) for index in reduction.indices],
                    reduction.kind,
                    {PLAIN_MARK: ir.UnitAttr.get(), **update_marks(reduction.updates[0])},
                )
        self.chunk.make(self.module, self.name, arguments, captured)
        self.loop.erase()

    def _go_alone_where_faster(self) -> None:
        """Stay on one thread where several would wait for one another in atomics."""
        shared = set(shared_updates(self.loop))
        if not shared or any(reduction.is_exact for reduction in self.reductions):
            return
        updates = _block_cost(self.body, lambda op: op in shared)
        if is_faster_alone(self.loop, _block_cost(self.body), updates, self.threads):
            self.threads = 1
            for op in shared:
                op.attributes[PLAIN_MARK] = ir.UnitAttr.get()

    def _visible(self, value: ir.Value) -> ir.Value:
        """A value that the loop may compute inside, from values outside of it: before the loop."""
        if isinstance(value, ir.BlockArgument):
            return value
        if not is_made_again(value) and not is_defined_in(value, self.loop):
            return value
        op = value.owner.operation
        operands = [self._visible(operand) for operand in op.operands]
        return copy_with(op, operands).results[0]

    def _dispatch(self, arguments: list[ir.Value]) -> list[ir.Value]:
        low, high = self.lower[self.axis], self.upper[self.axis]
        types = [r.type for r in self.reductions]
        cost = self._cost()
        trips = self.spans[self.axis].trips
        if self.threads == 1 or (trips is not None and trips * cost < self.worth):
            return self._serially(low, high, arguments)
        if trips is not None:
            return self._in_parallel(low, high, arguments, self._chunks(trips, cost))
        chunks = self._chunks(None, cost)
        enough = b.compare(b.SGE, b.sub(high, low), b.index(max(2, self.worth // cost)))
        choice = b.if_else(enough, types)
        with at_end(choice.then, self.loop.location):
            b.yield_(self._in_parallel(low, high, arguments, chunks))
        with at_end(choice.otherwise, self.loop.location):
            b.yield_(self._serially(low, high, arguments))
        return list(choice.results)

    def _chunks(self, trips: int | None, cost: int) -> int:
        """Return how many there are: one a thread where they have memory of their own, or where the
        order of a sum must be that of every other mode."""
        is_fixed = any(reduction.is_exact for reduction in self.reductions)
        if is_fixed or any(ChunkOp.holds(op) for op in operations(self.loop)):
            return self.threads
        most = _CHUNKS_A_THREAD * self.threads
        if trips is None:
            return most
        worth_it = trips * cost * _CHUNKS_A_THREAD // max(1, self.worth)
        return max(1, min(most, worth_it, trips))

    def _serially(self, low: ir.Value, high: ir.Value, arguments: list[ir.Value]) -> list[ir.Value]:
        return self._call(low, high, b.index(0), arguments)

    def _call(
        self, low: ir.Value, high: ir.Value, number: ir.Value, arguments: list[ir.Value]
    ) -> list[ir.Value]:
        results = [r.type for r in self.reductions]
        return list(b.call(self.name, [low, high, number, *arguments], results).results)

    def _in_parallel(
        self, low: ir.Value, high: ir.Value, arguments: list[ir.Value], chunks: int
    ) -> list[ir.Value]:
        zero, step, count = b.index(0), b.index(1), b.index(chunks)
        partial_sums = [
            b.alloca(ir.MemRefType.get([chunks, 64 // 4], r.type)) for r in self.reductions
        ]
        length = b.sub(high, low)
        loop = b.parallel_loop([zero], [count], [step])
        with at_end(loop.body, self.loop.location):
            k = loop.indices[0]
            first = b.add(low, b.div(b.mul(length, k), count))
            last = b.add(low, b.div(b.mul(length, b.add(k, step)), count))
            for partial_sum, value in zip(partial_sums, self._call(first, last, k, arguments)):
                b.write(value, partial_sum, [k, zero])
            b.end_parallel()
        return [
            self._total(step, partial_sum, chunks)
            for step, partial_sum in zip(self.reductions, partial_sums)
        ]

    def _total(self, reduction: Reduction, partial_sums: ir.Value, chunks: int) -> ir.Value:
        values = [b.read(partial_sums, [b.index(k), b.index(0)]) for k in range(chunks)]
        while len(values) > 1:
            paired = [reduction.combine(x, y) for x, y in zip(values[::2], values[1::2])]
            values = paired + values[len(paired) * 2 :]
        return values[0]

    def _cost(self) -> int:
        """The operations of an iteration along the axis; a fixed number where the order of a sum
        must be that of every other mode, whose loops hold more or less beside it."""
        if any(reduction.is_exact for reduction in self.reductions):
            return UNKNOWN
        inner_trips = [
            span.expected_trips for axis, span in enumerate(self.spans) if axis != self.axis
        ]
        return max(1, _block_cost(self.body) * prod(inner_trips))


def _weight(op: ir.Operation) -> int:
    return 1 + (10 if op.name.startswith("math.") else 0)


def _block_cost(block: ir.Block, weight: Callable[[ir.Operation], int] = _weight) -> int:
    total = 0
    for op in block_operations(block):
        total += weight(op)
        if not len(op.regions):
            continue
        inner = sum(_block_cost(inner, weight) for region in op.regions for inner in region.blocks)
        if is_for(op):
            inner *= spans(op)[0].expected_trips
        elif is_while(op):
            inner *= UNKNOWN
        total += inner
    return min(total, 1 << 30)
