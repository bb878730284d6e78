"""The code of a block of threads that runs an iteration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AtomicKind, array_type
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, box_digits, box_number, box_size
from mlirad.ir.gpu.blocks import (
    BLOCK_DIM,
    DEFAULT_BLOCK,
    MOST_THREADS,
    WARP,
    barrier,
    block_number,
    blocks_of_threads,
    reduce_in_block,
    thread_number,
)
from mlirad.ir.marks.rounding import round_as, update_marks
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.reductions import Reduction
from mlirad.ir.structured import For, Parallel
from mlirad.ir.walk import (
    at_end,
    before,
    block_operations,
    clone,
    constant_integer,
    has_uses,
    is_zero,
)
from mlirad.passes.gpu.split_row_loops.carried_values import Extreme, Sum
from mlirad.passes.gpu.split_row_loops.row_plan import RowPlan, SharedLoop, Step, row_plan

_SIZE = 256  # threads of a block, if there are many rows
_LEAST_TRIPS = 4  # of a thread
_UNKNOWN = 512  # trips of a loop of which nothing is known
_PLACES = 1 << 16  # threads, about a quarter of what a large GPU holds at once


def split_rows(module: ir.Operation, loop: ir.Operation, least: int) -> None:
    """Run each iteration of a loop by a block of threads, if that pays."""
    plan = row_plan(loop, least)
    if plan is None:
        return
    with before(loop):
        extents, rows = box_size(loop)
        size = _block_size(constant_integer(rows), plan.steps)
        is_long = _is_long(plan.steps, least)
        if is_long is not None:
            rows = b.select(is_long, rows, b.index(0))
        buffers = [
            scratch(module, value.type, [constant_integer(rows) or 0]) for value in plan.passed
        ]
        threads = blocks_of_threads(b.mul(rows, b.index(size)), size)
    with at_end(threads.body, loop.location):
        row = block_number()
        if constant_integer(rows) is None:  # a launch has at least one block
            guard = b.if_else(b.compare(b.SLT, row, rows), [], with_else=False)
            with at_end(guard.then, loop.location):
                _RowCode(loop, plan, size).emit(row, extents, buffers)
                b.yield_()
        else:
            _RowCode(loop, plan, size).emit(row, extents, buffers)
        b.end_parallel()
    if plan.kept_ops:
        _keep_ops(loop, plan, extents, buffers)
    elif is_long is not None:
        _keep_short_rows(loop, is_long)
    else:
        loop.erase()


def _is_long(steps: Iterable[Step], least: int) -> ir.Value | None:
    """A condition for enough trips of the loops whose trips the launch knows; None without such
    loops."""
    shared = [step.shared for step in steps if step.shared is not None]
    counts = [bounds_of(nest.op)[0].trips() for nest in shared if nest.trips is None]
    return b.all_of([b.compare(b.SGE, n, b.index(least)) for n in counts]) if counts else None


def _keep_short_rows(loop: ir.Operation, is_long: ir.Value) -> None:
    """Let the loop run no iteration if rows are long."""
    rank = Parallel(loop).rank
    with before(loop):
        loop.operands[rank] = b.select(is_long, loop.operands[0], loop.operands[rank])
    loop.attributes[BLOCK_DIM] = ir.IntegerAttr.get(b.integer_type(64), DEFAULT_BLOCK)


def _keep_ops(
    loop: ir.Operation, plan: RowPlan, extents: list[ir.Value], buffers: list[ir.Value]
) -> None:
    """Let the loop run the ops that it keeps, with the values that blocks have passed."""
    with before(plan.kept_ops[0]):
        row = box_number(loop, extents)
        for value, buffer in zip(plan.passed, buffers):
            value.replace_all_uses_with(field.load(buffer, [row]))
    for step in reversed(plan.steps):
        if not any(map(has_uses, step.op.results)):
            step.op.erase()


def _block_size(rows: int | None, steps: Iterable[Step]) -> int:
    """The threads of a block: a power of two, more if there are few rows."""
    longest = max(step.shared.trips or _UNKNOWN for step in steps if step.shared is not None)
    size = WARP
    while size * 2 * _LEAST_TRIPS <= longest and (
        size < _SIZE or (rows is not None and size < MOST_THREADS and rows * size < _PLACES)
    ):
        size *= 2
    return size


class _RowCode:
    """One loop."""

    def __init__(self, loop: ir.Operation, plan: RowPlan, size: int) -> None:
        self.loop, self.plan, self.size = loop, plan, size

    def emit(self, row: ir.Value, extents: list[ir.Value], buffers: list[ir.Value]) -> None:
        """Make the iteration of a number, at the insertion point."""
        digits = box_digits(row, extents)
        values: dict[ir.Value, ir.Value] = {
            index: bounds.value(digit)
            for index, bounds, digit in zip(
                Parallel(self.loop).indices, bounds_of(self.loop), digits
            )
        }
        self.thread = thread_number()
        self.is_first = b.compare(b.EQ, self.thread, b.index(0))
        since: list[Step] = []  # steps behind the last barrier
        branch: ir.Block | None = None  # of the first thread, if it ends here
        for step in self.plan.steps:
            if step.meets(since):
                barrier()
                since, branch = [], None
            since.append(step)
            if step.is_for_first:
                branch = branch or self._branch_of_first()
                with before(block_operations(branch)[-1]):
                    clone(step.op, values)
                continue
            branch = None
            if step.shared is not None:
                self._share(step.shared, values)
            else:
                clone(step.op, values)
        if buffers:
            with before(block_operations(self._branch_of_first())[-1]):
                for value, buffer in zip(self.plan.passed, buffers):
                    field.store(values[value], buffer, [row])

    def _branch_of_first(self) -> ir.Block:
        """Make a branch that the first thread takes alone."""
        branch = b.if_else(self.is_first, [], with_else=False)
        with at_end(branch.then, self.loop.location):
            b.yield_()
        return branch.then

    def _share(self, shared: SharedLoop, values: dict[ir.Value, ir.Value]) -> None:
        """Make a loop over the trips of a thread, and combine what it carries."""
        nest = For(shared.op)
        initial = [values.get(value, value) for value in list(shared.op.operands)[3:]]
        extremes = [value for value in shared.carried if isinstance(value, Extreme)]
        begin = list(initial)
        for value in shared.carried:
            if isinstance(value, Sum):
                begin[value.position] = _neutral(value, initial[value.position].type)
        number = b.integer_type(64 if shared.trips is None else 32)
        begin += [b.number(-1, number) for _ in extremes]  # the trip of the number
        begin += [b.number(0, b.integer_type(1))] * shared.is_checked  # for what is no number
        trips = bounds_of(shared.op)[0].trips()
        loop = b.for_loop(self.thread, trips, b.index(self.size), begin)
        with at_end(loop.body, shared.op.location):
            inner = dict(values)
            inner[nest.induction] = _trip(shared.op, loop.induction)
            inner.update(zip(nest.carried, loop.carried))
            *ops, end = block_operations(nest.body)
            for op in ops:
                clone(op, inner)
            ends = [inner.get(value, value) for value in end.operands]
            places = loop.carried[len(initial) :]
            ends += [
                _select(
                    extreme, inner[extreme.condition], place, b.index_cast(loop.induction, number)
                )
                for extreme, place in zip(extremes, places)
            ]
            if shared.is_checked:
                flag: ir.Value = loop.carried[-1]
                for extreme in extremes:
                    flag = _or_no_number(flag, inner.get(extreme.other, extreme.other))
                ends.append(flag)
            b.yield_(ends)
        results = self._combine(shared, initial, loop.results)
        if shared.is_checked:
            results = self._unless_no_number(shared.op, loop.results[-1], results, values)
        values.update(zip(shared.op.results, results))

    def _combine(
        self, shared: SharedLoop, initial: list[ir.Value], of_thread: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The results of a loop, of each thread's own."""
        results = list(of_thread[: len(initial)])
        places = iter(of_thread[len(initial) :])
        for value in shared.carried:
            if isinstance(value, Sum):
                total = reduce_in_block(value.kind, of_thread[value.position])
                results[value.position] = _from_initial(value, initial[value.position], total)
            else:
                positions = [value.position, *value.companions]
                values = self._extreme(value, [of_thread[at] for at in positions], next(places))
                for at, result in zip(positions, values):
                    results[at] = result
        return results

    def _extreme(
        self, extreme: Extreme, of_thread: list[ir.Value], place: ir.Value
    ) -> list[ir.Value]:
        """The extreme of those of all threads, with its companions: of equal ones, that
        of the first or of the last trip. It goes through the block's memory, so it keeps the sign
        of a zero."""
        number = of_thread[0]
        most = reduce_in_block(extreme.kind, number)
        if b.is_float(number.type):
            is_most = b.compare_floats(b.OEQ, number, most)
        else:
            is_most = b.compare(b.EQ, number, most)
        kind = AtomicKind.MIN if extreme.keeps_equal else AtomicKind.MAX
        candidate = b.select(is_most, place, Reduction(kind, number, [], place.type).neutral())
        best = reduce_in_block(kind, candidate)
        zero = b.index(0)
        arrays = [field.shared(array_type(value.type, [1])) for value in of_thread]
        owner = b.if_else(b.compare(b.EQ, candidate, best), [], with_else=False)
        with at_end(owner.then, ir.Location.current):
            for value, array in zip(of_thread, arrays):
                field.store(value, array, [zero])
            b.yield_()
        barrier()
        return [field.load(array, [zero]) for array in arrays]

    def _unless_no_number(
        self,
        nest: ir.Operation,
        flag: ir.Value,
        results: Sequence[ir.Value],
        values: dict[ir.Value, ir.Value],
    ) -> list[ir.Value]:
        """The results of a loop; those of all of its trips, one after another, where a number that
        was compared is none."""
        i32 = b.integer_type(32)
        bits = reduce_in_block(AtomicKind.OR, b.extui(flag, i32))
        branch = b.if_else(
            b.compare(b.NE, bits, b.number(0, i32)), [value.type for value in results]
        )
        with at_end(branch.then, nest.location):
            b.yield_(list(clone(nest, dict(values)).results))
        with at_end(branch.otherwise, nest.location):
            b.yield_(results)
        return list(branch.results)


def _trip(nest: ir.Operation, number: ir.Value) -> ir.Value:
    """The index of a loop in the trip of a number."""
    span = spans(nest)[0]
    return number if (span.low, span.step) == (0, 1) else bounds_of(nest)[0].value(number)


def _neutral(value: Sum, type_: ir.Type) -> ir.Value:
    return Reduction(value.kind, value.step.results[0], [], type_).neutral()


def _from_initial(value: Sum, initial: ir.Value, total: ir.Value) -> ir.Value:
    """A sum that begins with a number."""
    if value.kind == AtomicKind.ADD and is_zero(initial):
        return total
    return round_as(b.combine(value.kind, initial, total), update_marks(value.step))


def _select(extreme: Extreme, condition: ir.Value, carried: ir.Value, other: ir.Value) -> ir.Value:
    values = (carried, other) if extreme.stays_if else (other, carried)
    return b.select(condition, *values)


def _or_no_number(flag: ir.Value, value: ir.Value) -> ir.Value:
    if not b.is_float(value.type):
        return flag
    return b.ori(flag, b.compare_floats(b.UNO, value, value))
