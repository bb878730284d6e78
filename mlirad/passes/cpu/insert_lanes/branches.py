"""Branches of iterations that run as lanes: where lanes may go different ways, both ways run, each
with those that go it."""

from __future__ import annotations

from typing import Protocol

from mlirad.analysis.lanes.steps import address_step
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith, Memref
from mlirad.ir.structured import If
from mlirad.ir.vectors import any_lane, invert_mask
from mlirad.ir.walk import block_operations
from mlirad.passes.cpu.insert_lanes.accesses import Memory
from mlirad.passes.cpu.insert_lanes.values import Mask, Values

_FEW = 12  # ops that are not worth a test whether any lane wants them
_EASY = ("arith.", "math.")


class Emitter(Protocol):
    """An emitter of the ops of a block."""

    values: Values
    memory: Memory

    def block(self, block: ir.Block, mask: Mask) -> None:
        """Emit all ops of a block but its last."""


def branch(body: Emitter, op: ir.Operation, mask: Mask) -> None:
    """Emit an `scf.if`."""
    values, box = body.values, If(op)
    if not values.strides.is_divergent(op):
        types = [values.kept_type(result) for result in op.results]
        choice = b.if_else(values.first(op.operands[0]), types, with_else=len(box.blocks) > 1)
        for source, target in zip(box.blocks, choice.blocks):
            with ir.InsertionPoint(target), values.scope():
                body.block(source, mask)
                ends = block_operations(source)[-1].operands
                b.yield_([values.in_form_of(v, like) for v, like in zip(ends, op.results)])
        for result, value in zip(op.results, choice.results):
            values.set(result, value)
        return
    condition = values.vector(op.operands[0])
    if len(box.blocks) > 1 and _is_nothing(box.otherwise) and not _is_easy(values, box.then):
        _emit_optional(body, op, condition, mask)
        return
    ways = [condition, invert_mask(condition)] if len(box.blocks) > 1 else [condition]
    results = [
        _way(body, op, block, values.and_condition(mask, way))
        for block, way in zip(box.blocks, ways)
    ]
    for position, result in enumerate(op.results):
        values.set(result, values.select(condition, results[0][position], results[1][position]))


def _emit_optional(body: Emitter, op: ir.Operation, condition: ir.Value, mask: Mask) -> None:
    """Emit an `scf.if` that computes something or gives what is there: where no lane computes it,
    nothing is chosen, either."""
    values, box = body.values, If(op)
    active = values.and_condition(mask, condition)
    body.block(box.otherwise, mask)
    yielded = [values.vector(v) for v in block_operations(box.otherwise)[-1].operands]
    choice = b.if_else(any_lane(active), [v.type for v in yielded])
    with ir.InsertionPoint(choice.then), values.scope():
        body.block(box.then, active)
        ends = block_operations(box.then)[-1].operands
        b.yield_([values.select(active, values.vector(v), w) for v, w in zip(ends, yielded)])
    with ir.InsertionPoint(choice.otherwise):
        b.yield_(yielded)
    for result, value in zip(op.results, choice.results):
        values.set(result, value)


def _is_nothing(block: ir.Block) -> bool:
    """Return whether a way only gives what is there already, and constants."""
    return all(op.name == Arith.CONSTANT for op in block_operations(block)[:-1])


def _way(body: Emitter, op: ir.Operation, block: ir.Block, mask: ir.Value) -> list[ir.Value]:
    """Emit one way, with the lanes that go it; the vectors that it gives."""
    values = body.values
    ends = list(block_operations(block)[-1].operands)
    if _is_easy(values, block):
        body.block(block, mask)
        return [values.vector(end) for end in ends]
    types = [values.vector_type(result.type) for result in op.results]
    choice = b.if_else(any_lane(mask), types, with_else=bool(types))
    with ir.InsertionPoint(choice.then), values.scope():
        body.block(block, mask)
        b.yield_([values.vector(end) for end in ends])
    if types:
        with ir.InsertionPoint(choice.otherwise):
            b.yield_([values.splat(0, result.type) for result in op.results])
    return list(choice.results)


def _is_easy(values: Values, block: ir.Block) -> bool:
    """Return whether a way may as well run where no lane goes it: nothing in it then uses an
    address that no lane has, or traps."""
    ops = block_operations(block)[:-1]
    return len(ops) <= _FEW and all(_is_harmless(values, op) for op in ops)


def _is_harmless(values: Values, op: ir.Operation) -> bool:
    if op.regions:
        return False
    if op.name.startswith(_EASY):
        differs = values.strides.stride_of(op.results[0]) is None
        return differs or not any(word in op.name for word in ("div", "rem"))
    if op.name == Memref.LOAD:
        return _is_side_by_side(values, list(op.operands)[1:], op.operands[0])
    return False


def _is_side_by_side(values: Values, indices: list[ir.Value], memref: ir.Value) -> bool:
    """Return whether lanes access neighboring elements, so that a masked access does without those
    that are not active."""
    if memref in values.strides.private:
        return False
    return address_step(values.strides, memref, indices) == 1
