"""One loop, as lanes."""

from __future__ import annotations

from mlirad.analysis.lanes.cost import is_function, is_long
from mlirad.analysis.lanes.lane_meetings import reductions_of
from mlirad.analysis.lanes.updates import STEPS
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.marks.loop_hints import keep_scalar
from mlirad.ir.reports.remarks import move_remarks, remark
from mlirad.ir.structured import ANY_ORDER, For
from mlirad.ir.vectors import reduce_in_halves
from mlirad.ir.walk import attributes_of, before, block_operations, constant_integer, operations
from mlirad.passes.cpu.insert_lanes.accesses import Memory
from mlirad.passes.cpu.insert_lanes.body import Body, neutral_of
from mlirad.passes.cpu.insert_lanes.choice import Candidate
from mlirad.passes.cpu.insert_lanes.next_lanes import NextLanes
from mlirad.passes.cpu.insert_lanes.sums import LaneSums
from mlirad.passes.cpu.insert_lanes.values import Mask, Values
from mlirad.passes.cpu.insert_lanes.whole_lines import iterations_before_lines


class LoopInLanes:
    """The replacement of a loop by one over vectors of iterations."""

    def __init__(self, candidate: Candidate) -> None:
        self.loop, self.width = candidate.loop, candidate.width
        self.candidate, self.box = candidate, For(candidate.loop)
        steps = reductions_of(self.loop, may_reorder=True)
        assert steps is not None
        self.steps = steps

    def run(self, text: str) -> None:
        """Replace the loop."""
        loop, bounds = self.loop, bounds_of(self.loop)[0]
        values = Values(self.candidate.strides, self.width)
        memory = Memory(values)
        self.own_sums = LaneSums(self.candidate.meetings, values)
        for op in values.strides.non_arithmetic:
            for operand in op.operands:
                if isinstance(operand.type, ir.MemRefType):
                    memory.prepare(operand, loop)
        with before(loop):
            sums = [
                values.splat(neutral_of(STEPS[s.name], r.type), r.type)
                for s, r in zip(self.steps, loop.results)
            ]
            lower, trips = bounds.lower, bounds.trips()
            if not self.candidate.is_large and not self.candidate.is_masked:
                ahead = b.index(iterations_before_lines(values.strides, self.width))
                sums = self._emit_some(memory, ahead, lower, sums)
                lower, trips = b.add(lower, ahead), b.sub(trips, ahead)
            remainder = _remaining_trips(trips, self.width)
            vector_trips = b.sub(trips, remainder)
            last = b.add(lower, b.mul(vector_trips, bounds.step))
            is_even = constant_integer(remainder) == 0
            if self.candidate.is_masked and not is_even:
                sums = self._emit_full_vectors(memory, lower, bounds.upper, sums, text, trips)
            else:
                sums = self._emit_full_vectors(memory, lower, last, sums, text)
                if self.candidate.is_large and not is_even:
                    self._go_on(last, sums)
                    return
                sums = self._emit_some(memory, remainder, last, sums)
            for result, total in zip(loop.results, self._combine_sums(sums)):
                result.replace_all_uses_with(total)
        loop.erase()

    def _go_on(self, first: ir.Value, sums: list[ir.Value]) -> None:
        """Let the loop itself do the others, one by one: too few for vectors of LLVM's."""
        if is_long(self.loop) or not any(map(is_function, operations(self.loop))):
            keep_scalar(self.loop)
        totals = self._combine_sums(sums)
        del self.loop.attributes[ANY_ORDER]
        self.loop.operands[0] = first
        for position, total in enumerate(totals):
            self.loop.operands[3 + position] = total

    def _emit_full_vectors(
        self,
        memory: Memory,
        lower: ir.Value,
        last: ir.Value,
        sums: list[ir.Value],
        text: str,
        trips: ir.Value | None = None,
    ) -> list[ir.Value]:
        """The iterations that fill vectors; with masks all of them, where it is said how many."""
        bounds = bounds_of(self.loop)[0]
        stride = b.mul(bounds.step, b.index(self.width))
        full = b.for_loop(lower, last, stride, sums)
        move_remarks(self.loop, full.op)
        if text:
            remark(full.op, text)
        with ir.InsertionPoint(full.body):
            mask = None
            if trips is not None:
                mask = memory.values.lanes_below(b.sub(trips, bounds.trip(full.induction)))
            is_large = self.candidate.is_large
            following = NextLanes(self.loop, full.body, self.width, is_large=is_large)
            with memory.fetching(following):
                carried = self._iteration(memory, full.induction, list(full.carried), mask)
            following.finish()
            b.yield_(carried)
        return list(full.results)

    def _emit_some(
        self, memory: Memory, count: ir.Value, first: ir.Value, sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Iterations that do not fill a vector."""
        if constant_integer(count) == 0:
            return sums
        some = b.compare(b.SGT, count, b.index(0))
        branch = b.if_else(some, [s.type for s in sums], with_else=bool(sums))
        with ir.InsertionPoint(branch.then):
            mask = memory.values.lanes_below(count)
            b.yield_(self._iteration(memory, first, sums, mask))
        if sums:
            with ir.InsertionPoint(branch.otherwise):
                b.yield_(sums)
        return list(branch.results)

    def _iteration(
        self, memory: Memory, first: ir.Value, sums: list[ir.Value], mask: Mask
    ) -> list[ir.Value]:
        """Return what one vector of iterations carries on."""
        values = memory.values
        with values.scope():
            values.set(self.box.induction, first)
            for carried, value in zip(self.box.carried, sums):
                values.set(carried, value)
            candidate = self.candidate
            body = Body(values, memory, candidate.meetings, self.own_sums, candidate.groups)
            body.block(self.box.body, mask)
            ends = block_operations(self.box.body)[-1].operands
            return [values.select(mask, values.vector(e), s) for e, s in zip(ends, sums)]

    def _combine_sums(self, sums: list[ir.Value]) -> list[ir.Value]:
        """The sums over all lanes, and what the loop began with."""
        totals = []
        for step, initial, lanes in zip(self.steps, list(self.loop.operands)[3:], sums):
            name = STEPS[step.name]
            operands = [initial, reduce_in_halves(lanes, name, attributes_of(step))]
            totals.append(b.make(name, initial.type, operands, **attributes_of(step)))
        return totals


def _remaining_trips(trips: ir.Value, width: int) -> ir.Value:
    constant = constant_integer(trips)
    if constant is not None:
        return b.index(constant % width)
    return b.rem(trips, b.index(width))
