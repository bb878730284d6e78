"""The function that runs a chunk of a parallel loop: nested loops, marked `field.any_order`."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import ChunkOp, GetOp
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import choices_of, set_choice
from mlirad.ir.ops import Arith
from mlirad.ir.reductions import Reduction, accumulators, join
from mlirad.ir.reports.remarks import copy_remarks
from mlirad.ir.structured import ANY_ORDER, Parallel
from mlirad.ir.walk import (
    at_end,
    at_start,
    before,
    block_operations,
    constant_integer,
    defining_op,
    entry_of,
    is_inside,
    operations,
    owner_operation,
    replace,
)

BLOCK = 1024  # iterations summed into one register before they join the chunk's sum


class Chunk:
    """The iterations of a parallel loop from one to another along an axis, as a function."""

    def __init__(self, loop: Parallel, axis: int, reductions: list[Reduction]) -> None:
        self.loop, self.axis, self.reductions = loop, axis, reductions

    def make(
        self,
        module: ir.Operation,
        name: str,
        arguments: list[ir.Value],
        captured: list[ir.Value],
    ) -> None:
        """Add the function to the module, and move the body of the loop there. It takes where to
        begin and to end, the number of the chunk, and some values; it gives the sums."""
        inputs = [b.index_type()] * 3 + [v.type for v in arguments]
        results = [r.type for r in self.reductions]
        with ir.InsertionPoint(module.regions[0].blocks[0]), self.loop.op.location:
            entry = entry_of(b.function(name, inputs, results))
        mapping: dict[ir.Value, ir.Value] = dict(zip(arguments, list(entry.arguments)[3:]))
        with at_start(entry, self.loop.op.location):
            for value in [*captured, *self.loop.lower, *self.loop.upper, *self.loop.steps]:
                if value not in mapping and is_made_again(value):
                    mapping[value] = owner_operation(value).clone().results[0]
        with at_end(entry, self.loop.op.location):
            low, high, number = list(entry.arguments)[:3]
            for op in [op for op in operations(self.loop.op) if ChunkOp.holds(op)]:
                replace(op, [number])
            sums = accumulators(self.reductions)
            self._nest(low, high, mapping, sums)
            b.return_([b.read(s) for s in sums])
        for op in [op for reduction in self.reductions for op in reduction.updates]:
            op.erase()

    def _nest(
        self, low: ir.Value, high: ir.Value, mapping: dict[ir.Value, ir.Value], sums: list[ir.Value]
    ) -> None:
        axes = [self.axis, *(a for a in range(self.loop.rank) if a != self.axis)]
        step = mapping.get(self.loop.steps[self.axis], self.loop.steps[self.axis])
        if self.loop.rank == 1 and self.reductions and constant_integer(self.loop.steps[0]) == 1:
            blocks = b.for_loop(low, high, b.index(BLOCK))
            blocks.op.attributes[ANY_ORDER] = ir.UnitAttr.get()
            start = blocks.body
            with at_end(start, self.loop.op.location):
                inner = accumulators(self.reductions)
                first = start.arguments[0]
                last = b.minsi(b.add(first, b.index(BLOCK)), high)
                self._level(axes, 0, first, last, step, mapping, inner)
                join(self.reductions, sums, inner)
                b.yield_()
            return
        self._level(axes, 0, low, high, step, mapping, sums)

    def _level(
        self,
        axes: list[int],
        position: int,
        low: ir.Value,
        high: ir.Value,
        step: ir.Value,
        mapping: dict[ir.Value, ir.Value],
        sums: list[ir.Value],
    ) -> None:
        loop = b.for_loop(low, high, step)
        loop.op.attributes[ANY_ORDER] = ir.UnitAttr.get()
        block = loop.body
        axis = axes[position]
        set_choice(loop.op, choices_of(self.loop.op, self.loop.rank)[axis])
        if position == 0:
            copy_remarks(self.loop.op, [loop.op])
        self.loop.body.arguments[axis].replace_all_uses_with(block.arguments[0])
        with at_end(block, self.loop.op.location):
            innermost = position + 1 == len(axes)
            nested = innermost and any(r.is_repeated_in(self.loop.op) for r in self.reductions)
            inner = accumulators(self.reductions) if not innermost or nested else sums
            if innermost:
                self._move_body(block, mapping, inner)
            else:
                after = axes[position + 1]
                bounds = (self.loop.lower[after], self.loop.upper[after], self.loop.steps[after])
                first, last, stride = (mapping.get(v, v) for v in bounds)
                self._level(axes, position + 1, first, last, stride, mapping, inner)
            if inner is not sums:
                join(self.reductions, sums, inner)
            b.yield_()

    def _move_body(
        self, block: ir.Block, mapping: dict[ir.Value, ir.Value], sums: list[ir.Value]
    ) -> None:
        """Move all ops but the last to a block, where sums are kept in slots."""
        for value, replacement in mapping.items():
            for use in list(value.uses):
                if is_inside(use.owner.operation, self.loop.op):
                    use.owner.operation.operands[use.operand_number] = replacement
        for reduction, slot in zip(self.reductions, sums):
            for op in reduction.updates:
                with before(op):
                    b.write(reduction.combine(b.read(slot), op.operands[0]), slot)
        for op in block_operations(self.loop.body)[:-1]:
            block.append(op)


def is_made_again(value: ir.Value) -> bool:
    """Return whether a value is better made again in the chunk than passed to it."""
    op = defining_op(value)
    return op is not None and (op.name == Arith.CONSTANT or GetOp.holds(op))
