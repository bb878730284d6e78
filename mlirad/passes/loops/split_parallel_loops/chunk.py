"""The function that runs a chunk of a parallel loop: nested loops, marked `field.any_order`."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import ChunkOp, GetOp
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import choices_of, set_choice
from mlirad.ir.ops import Arith, Scf
from mlirad.ir.reductions import Reduction, accumulators, join
from mlirad.ir.reports.remarks import copy_remarks
from mlirad.ir.structured import ANY_ORDER, Parallel
from mlirad.ir.walk import (
    at_end,
    at_start,
    attributes_of,
    block_operations,
    captured_values,
    clone,
    constant_integer,
    defining_op,
    entry_of,
    operations,
    owner_operation,
)

BLOCK = 1024  # iterations summed into one register before they join the chunk's sum


class Chunk:
    """The iterations of a parallel loop from one to another along an axis, as a function."""

    def __init__(self, loop: Parallel, axis: int, reductions: list[Reduction]) -> None:
        self.loop, self.axis, self.reductions = loop, axis, reductions

    def make(self, module: ir.Operation, name: str, arguments: list[ir.Value]) -> None:
        """Add the function to the module. It takes where to begin and to end, the number of the
        chunk, and some values; it gives the sums."""
        inputs = [b.index_type()] * 3 + [v.type for v in arguments]
        results = [r.type for r in self.reductions]
        with ir.InsertionPoint(module.regions[0].blocks[0]), self.loop.op.location:
            entry = entry_of(b.function(name, inputs, results))
        mapping: dict[ir.Value, ir.Value] = dict(zip(arguments, list(entry.arguments)[3:]))
        with at_start(entry, self.loop.op.location):
            for value in [
                *captured_values(self.loop.op),
                *self.loop.lower,
                *self.loop.upper,
                *self.loop.steps,
            ]:
                if value not in mapping and is_made_again(value):
                    mapping[value] = owner_operation(value).clone().results[0]
        with at_end(entry, self.loop.op.location):
            low, high = entry.arguments[0], entry.arguments[1]
            for op in operations(self.loop.op):
                if ChunkOp.holds(op):
                    mapping[op.results[0]] = entry.arguments[2]
            sums = accumulators(self.reductions)
            self._nest(low, high, mapping, sums)
            b.return_([b.read(s) for s in sums])

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
        mapping[self.loop.body.arguments[axis]] = block.arguments[0]
        with at_end(block, self.loop.op.location):
            innermost = position + 1 == len(axes)
            nested = innermost and any(r.is_repeated_in(self.loop.op) for r in self.reductions)
            inner = accumulators(self.reductions) if not innermost or nested else sums
            if innermost:
                self._clone_body(mapping, inner)
            else:
                after = axes[position + 1]
                bounds = (self.loop.lower[after], self.loop.upper[after], self.loop.steps[after])
                first, last, stride = (mapping.get(v, v) for v in bounds)
                self._level(axes, position + 1, first, last, stride, mapping, inner)
            if inner is not sums:
                join(self.reductions, sums, inner)
            b.yield_()

    def _clone_body(self, mapping: dict[ir.Value, ir.Value], sums: list[ir.Value]) -> None:
        slots = {
            op: (reduction, slot)
            for reduction, slot in zip(self.reductions, sums)
            for op in reduction.updates
        }
        for op in block_operations(self.loop.body):
            if op.name != Scf.REDUCE and not ChunkOp.holds(op):
                clone_with(op, mapping, slots)


def is_made_again(value: ir.Value) -> bool:
    """Return whether a value is better made again in the chunk than passed to it."""
    op = defining_op(value)
    return op is not None and (op.name == Arith.CONSTANT or GetOp.holds(op))


def clone_with(
    op: ir.Operation,
    mapping: dict[ir.Value, ir.Value],
    slots: dict[ir.Operation, tuple[Reduction, ir.Value]],
) -> None:
    """Clone an operation with mapped operands; updates in `slots` go to their slot instead."""
    if op in slots:
        reduction, slot = slots[op]
        value = mapping.get(op.operands[0], op.operands[0])
        with op.location:
            b.write(reduction.combine(b.read(slot), value), slot)
        return
    if ChunkOp.holds(op):
        return
    if not op.regions:
        clone(op, mapping)
        return
    attributes = attributes_of(op)
    copy = ir.Operation.create(
        op.name,
        [r.type for r in op.results],
        [mapping.get(v, v) for v in op.operands],
        attributes,
        regions=len(op.regions),
        loc=op.location,
    )
    for source, target in zip(op.regions, copy.regions):
        for block in source.blocks:
            new = ir.Block.create_at_start(
                target, [a.type for a in block.arguments], [op.location] * len(block.arguments)
            )
            mapping.update(zip(block.arguments, new.arguments))
            with ir.InsertionPoint(new):
                for inner in block_operations(block):
                    clone_with(inner, mapping, slots)
    mapping.update(zip(op.results, copy.results))
