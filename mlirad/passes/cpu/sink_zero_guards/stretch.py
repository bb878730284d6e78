"""Stretches of the blocks of a function that run without their guards (see `sink_zero_guards`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlirad.analysis.guard_segments import ALLOCATIONS, Segment, is_pure, segments, touched_memory
from mlirad.analysis.lanes.cost import Scalar, is_function
from mlirad.analysis.zero_guards import guard_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rare import RARE
from mlirad.ir.ops import Memref
from mlirad.ir.structured import AT_END, runs_in_any_order
from mlirad.ir.walk import before, defining_op, has_uses
from mlirad.passes.cpu.sink_zero_guards.nan_tests import looked_at_for_nans
from mlirad.passes.cpu.sink_zero_guards.rare_functions import RareFunctions

_FIXED = 8  # ops that a stretch without guards takes more
# What is compiled takes time in every first call: ops that a guard may add to it, and which part of
# a function such a stretch has to be.
_MOST, _PART = 8, 3


def sink(function: ir.Operation, by_llvm: tuple[bool, int] | None) -> None:
    """Sink the guards of a function, but of loops that LLVM makes vectors of: with sums in another
    order or not, and of how many numbers."""
    rare_functions = RareFunctions(function)
    for block in _blocks(function, None if by_llvm is None else Scalar(*by_llvm)):
        for segment, end in list(segments(block)):
            _Stretch(segment, end).run(rare_functions)


def _blocks(function: ir.Operation, costs: Scalar | None) -> list[ir.Block]:
    """The blocks of a function, those within before those around, but for loops that are left to
    LLVM."""
    blocks = list(function.regions[0].blocks)
    return [*reversed(list(_blocks_within(blocks, costs))), *blocks]


def _blocks_within(blocks: list[ir.Block], costs: Scalar | None) -> Iterator[ir.Block]:
    for child in (child for block in blocks for child in block.operations):
        op = child.operation
        if not len(op.regions) or AT_END in op.attributes:
            continue
        if costs is None or not runs_in_any_order(op) or not costs.is_left_to_llvm(op):
            inner = [block for region in op.regions for block in region.blocks]
            yield from inner
            yield from _blocks_within(inner, costs)


class _Stretch:
    """A stretch of a block, to be computed without guards."""

    def __init__(self, segment: Segment, end: ir.Operation) -> None:
        self.segment, self.end = segment, end
        self.uses = segment.results()
        guards = map(guard_of, segment.guards)  # as stretches in front have left them
        self.guards = [guard for guard in guards if guard is not None]

    def run(self, rare_functions: RareFunctions) -> None:
        """Leave the guards out, where that pays."""
        results = list(self.uses)
        if 2 * len(self.guards) < _FIXED + len(results):
            return
        ops = self._slice(results)
        if _MOST * len(self.guards) < len(ops) or _PART * len(ops) < rare_functions.size:
            return
        function = rare_functions.function_of(ops, results)
        uses = list(self.uses.values())
        quick = self._remove_guards(results)
        looked_at = looked_at_for_nans(self.segment.front, quick, self.doubtful, self.witnesses)
        for op in self.segment.back:
            op.move_before(self.end)
        first = self.segment.back[0] if self.segment.back else self.end
        with before(first):
            branch = b.if_else(b.is_nan_anywhere(looked_at), function.results)
            branch.op.attributes[RARE] = ir.UnitAttr.get()
            with ir.InsertionPoint(branch.then):
                b.yield_(list(function.call().results))
            with ir.InsertionPoint(branch.otherwise):
                b.yield_(quick)
        for users, result in zip(uses, branch.results):
            for user, position in users:
                user.operands[position] = result

    def _slice(self, results: Sequence[ir.Value]) -> list[ir.Operation]:
        """The ops that compute values from what is in memory, and from elementary functions."""
        needed_values, slice_ops = set(results), list[ir.Operation]()
        written: set[ir.Value] = set()
        for op in reversed(self.segment.front):
            if not needed_values.isdisjoint(op.results) and self._is_made_again(op, written):
                slice_ops.append(op)
                needed_values.update(op.operands)
            if not is_pure(op):
                written |= touched_memory(op)[1]
        return slice_ops[::-1]

    def _is_made_again(self, op: ir.Operation, written: set[ir.Value]) -> bool:
        """Return whether an op is better done again than what it gives kept for a function that
        hardly ever runs."""
        if op.name == Memref.LOAD:
            producer = defining_op(op.operands[0])
            is_own = (
                producer is not None and producer.name in ALLOCATIONS
            )  # lanes have buffers of theirs
            return not is_own and op.operands[0] not in written
        if not is_pure(op):
            return False
        return not is_function(op) or not self.segment.made.isdisjoint(op.results)

    def _remove_guards(self, results: Sequence[ir.Value]) -> list[ir.Value]:
        """Leave them out; what stands for some values then."""
        replacements: dict[ir.Value, ir.Value] = {}
        for guard in self.guards:
            value = replacements.get(guard.value, guard.value)
            replacements[guard.op.results[0]] = value
            guard.op.results[0].replace_all_uses_with(value)
        self.doubtful = set(replacements.values())
        self.witnesses = [
            replacements.get(guard.witness, guard.witness)
            for guard in self.guards
            if guard.witness is not None
        ]
        replaced_results = [replacements.get(v, v) for v in results]
        reserved = set(self.witnesses)  # nothing else may use these
        live_ops = list[ir.Operation]()
        for op in reversed(self.segment.front):
            if is_pure(op) and not any(has_uses(v) or v in reserved for v in op.results):
                op.erase()
            else:
                live_ops.append(op)
        self.segment.front[:] = reversed(live_ops)
        return replaced_results
