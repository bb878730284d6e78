"""Sums that the iterations of a parallel loop make by a serial loop, as parts that a launch in
front of it leaves in memory."""

from __future__ import annotations

from collections.abc import Sequence

from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.ir import build as b
from mlirad.ir.box import box_number, box_size
from mlirad.ir.gpu.box_points import Values
from mlirad.ir.marks.rounding import loose_mark
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.walk import at_end, before, block_operations, constant_integer, is_zero


class PartialSums:
    """Parts of the results of a serial loop, of which a parallel loop makes sums, each in so many
    shares; the box of the parallel loop is known."""

    def __init__(self, module: ir.Operation, loop: ir.Operation, nest: ir.Operation, shares: int):
        self.loop, self.nest, self.shares = loop, nest, shares
        with before(loop):
            self.extents, size = box_size(loop)
            count = constant_integer(size)
            assert count is not None, "parts of a box that is not known"
            self.buffers = [scratch(module, v.type, [shares * count]) for v in nest.results]

    def store(self, values: Values, totals: Sequence[ir.Value], share: ir.Value) -> None:
        """Leave parts of the sums of the iteration with some indices."""
        place = box_number(self.loop, self.extents, values, share)
        for total, buffer in zip(totals, self.buffers):
            field.store(total, buffer, [place])

    def add_up(self, *, is_checked: bool) -> None:
        """Let each iteration add up the parts of its sums, in the place of its own, which it makes
        where it `is_checked` and finds what is no number."""
        nest = self.nest
        with before(nest):
            totals = [
                from_initial(initial, total)
                for initial, total in zip(list(nest.operands)[3:], self._totals())
            ]
        if not is_checked:
            for result, total in zip(nest.results, totals):
                result.replace_all_uses_with(total)
            nest.erase()
            return
        with before(nest):
            tests = [b.compare_floats(b.UNO, total, total) for total in totals]
            branch = b.if_else(b.all_of(tests), [total.type for total in totals])
        for result, total in zip(nest.results, branch.results):
            result.replace_all_uses_with(total)
        with at_end(branch.then, nest.location):
            b.yield_(list(nest.results))
        nest.move_before(block_operations(branch.then)[0])
        with at_end(branch.otherwise, nest.location):
            b.yield_(totals)

    def _totals(self) -> Sequence[ir.Value]:
        zeros = [b.number(0.0, result.type) for result in self.nest.results]
        loop = b.for_loop(b.index(0), b.index(self.shares), b.index(1), zeros)
        with at_end(loop.body, self.nest.location):
            place = box_number(self.loop, self.extents, first=loop.induction)
            values = [field.load(buffer, [place]) for buffer in self.buffers]
            pairs = zip(loop.carried, values)
            b.yield_([b.addf(carried, value, **loose_mark()) for carried, value in pairs])
        return loop.results


def from_initial(initial: ir.Value, total: ir.Value) -> ir.Value:
    """A sum that begins with a number."""
    return total if is_zero(initial) else b.addf(initial, total, **loose_mark())
