"""Loops within iterations that run as lanes. Where all lanes run one equally often, it stays a
loop; else it runs as long as any lane does, with those that still do."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import ANY_ORDER, For, While
from mlirad.ir.vectors import any_lane, reduce_lanes
from mlirad.ir.walk import attributes_of, block_operations, constant_integer, has_uses
from mlirad.passes.cpu.insert_lanes.branches import Emitter
from mlirad.passes.cpu.insert_lanes.next_rows import NextRows
from mlirad.passes.cpu.insert_lanes.values import Mask, Values


def emit_for(body: Emitter, op: ir.Operation, mask: Mask) -> None:
    """Emit an `scf.for`."""
    if body.values.strides.is_counted_alike(op):
        _emit_together(body, op, mask)
    else:
        _emit_apart(body, op, mask)


def _emit_together(body: Emitter, op: ir.Operation, mask: Mask) -> None:
    values, box = body.values, For(op)
    low, high, step = (values.first(v) for v in list(op.operands)[:3])
    initial = [values.in_form_of(v, like) for v, like in zip(list(op.operands)[3:], box.carried)]
    loop = b.for_loop(low, high, step, initial)
    for name, attribute in attributes_of(op).items():
        if name != ANY_ORDER:
            loop.op.attributes[name] = attribute
    with ir.InsertionPoint(loop.body), values.scope():
        for old, new in zip(box.body.arguments, loop.body.arguments):
            values.set(old, new)
        with body.memory.fetching(NextRows(loop, op, values.width)):
            body.block(box.body, mask)
        ends = block_operations(box.body)[-1].operands
        b.yield_([values.in_form_of(v, like) for v, like in zip(ends, box.carried)])
    for result, value in zip(op.results, loop.results):
        values.set(result, value)


def _emit_apart(body: Emitter, op: ir.Operation, mask: Mask) -> None:
    """A trip at a time, with the lanes that make it."""
    values, box = body.values, For(op)
    low, high, step = list(op.operands)[:3]
    first_step = values.first(step)
    length = b.sub(values.vector(high), values.vector(low))
    zero = values.splat(0, b.index_type())
    trips = b.maxsi(length, zero)
    if constant_integer(first_step) != 1:
        trips = b.ceildivsi(trips, values.broadcast(first_step))
    trips = values.select(mask, trips, zero)
    initial = [values.vector(v) for v in list(op.operands)[3:]]
    loop = b.for_loop(b.index(0), reduce_lanes(trips, "maxsi"), b.index(1), initial)
    with ir.InsertionPoint(loop.body), values.scope():
        distance = b.mul(loop.induction, first_step)
        if values.strides.stride_of(box.induction) is None:
            values.set(box.induction, b.add(values.vector(low), values.broadcast(distance)))
        else:
            values.set(box.induction, b.add(values.first(low), distance))
        for old, new in zip(box.carried, loop.carried):
            values.set(old, new)
        active = b.compare(b.SLT, values.broadcast(loop.induction), trips)
        body.block(box.body, active)
        ends = block_operations(box.body)[-1].operands
        b.yield_([values.select(active, values.vector(v), c) for v, c in zip(ends, loop.carried)])
    for result, value in zip(op.results, loop.results):
        values.set(result, value)


def emit_while(body: Emitter, op: ir.Operation, mask: Mask) -> None:
    """Emit an `scf.while`."""
    if body.values.strides.is_divergent(op):
        _Until(body, op).run(mask)
        return
    values, box = body.values, While(op)
    before = list(box.before.arguments)
    initial = [values.in_form_of(v, like) for v, like in zip(op.operands, before)]
    types = [values.kept_type(argument) for argument in box.after.arguments]
    loop = b.while_loop(initial, types, attributes_of(op))
    with ir.InsertionPoint(loop.before), values.scope():
        _name(values, box.before, loop.before)
        body.block(box.before, mask)
        condition, *passed = block_operations(box.before)[-1].operands
        carried_on = [values.in_form_of(v, like) for v, like in zip(passed, box.after.arguments)]
        b.go_on_if(values.first(condition), carried_on)
    with ir.InsertionPoint(loop.after), values.scope():
        _name(values, box.after, loop.after)
        body.block(box.after, mask)
        ends = block_operations(box.after)[-1].operands
        b.yield_([values.in_form_of(v, like) for v, like in zip(ends, before)])
    for result, value in zip(op.results, loop.results):
        values.set(result, value)


def _name(values: Values, old: ir.Block, new: ir.Block) -> None:
    for argument, value in zip(old.arguments, new.arguments):
        values.set(argument, value)


class _Until:
    """A `while` that runs until no lane is left. Beside what it carries go the results of lanes
    that have left, and those that have not."""

    def __init__(self, body: Emitter, op: ir.Operation) -> None:
        self.body, self.values, self.op, self.box = body, body.values, op, While(op)
        self.wanted = [k for k, result in enumerate(op.results) if has_uses(result)]

    def run(self, mask: Mask) -> None:
        """Emit it, for the lanes of a mask."""
        values, op, box = self.values, self.op, self.box
        before = list(box.before.arguments)
        initial = [values.in_form_of(v, like) for v, like in zip(op.operands, before)]
        left = [values.splat(0, op.results[k].type) for k in self.wanted]
        active = values.all_lanes() if mask is None else mask
        passed = [values.kept_type(argument) for argument in box.after.arguments]
        types = [*passed, *[v.type for v in left], active.type]
        loop = b.while_loop([*initial, *left, active], types)
        self._before(loop)
        self._after(loop)
        for k, value in zip(self.wanted, list(loop.results)[len(passed) :]):
            values.set(op.results[k], value)

    def _before(self, loop: While) -> None:
        values, box = self.values, self.box
        with ir.InsertionPoint(loop.before), values.scope():
            _name(values, box.before, loop.before)
            *earlier_values, active = list(loop.before.arguments)[len(box.before.arguments) :]
            self.body.block(box.before, active)
            condition, *passed = block_operations(box.before)[-1].operands
            requested = [passed[k] for k in self.wanted]
            going = values.and_condition(active, values.vector(condition))
            left = [
                values.select(active, values.vector(v), old)
                for v, old in zip(requested, earlier_values)
            ]
            carried_on = [
                values.in_form_of(v, like) for v, like in zip(passed, box.after.arguments)
            ]
            b.go_on_if(any_lane(going), [*carried_on, *left, going])

    def _after(self, loop: While) -> None:
        values, box = self.values, self.box
        with ir.InsertionPoint(loop.after), values.scope():
            _name(values, box.after, loop.after)
            saved_values = list(loop.after.arguments)[len(box.after.arguments) :]
            self.body.block(box.after, saved_values[-1])
            ends = block_operations(box.after)[-1].operands
            carried_on = [values.in_form_of(v, like) for v, like in zip(ends, box.before.arguments)]
            b.yield_([*carried_on, *saved_values])
