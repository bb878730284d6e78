"""The iterations of a loop as lanes, op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.lanes.groups import Group, Groups
from mlirad.analysis.lanes.lane_meetings import Meetings
from mlirad.analysis.lanes.updates import STEPS, Update
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.rare import is_rare
from mlirad.ir.ops import Arith, Memref, Scf
from mlirad.ir.pure_operations import is_integer_division
from mlirad.ir.vectors import extract, from_elements, reduce_in_halves
from mlirad.ir.walk import attributes_of, block_operations, clone, operations
from mlirad.passes.cpu.insert_lanes.accesses import Memory
from mlirad.passes.cpu.insert_lanes.branches import branch
from mlirad.passes.cpu.insert_lanes.inner_loops import emit_for, emit_while
from mlirad.passes.cpu.insert_lanes.rare_calls import rare_branch
from mlirad.passes.cpu.insert_lanes.sums import LaneSums
from mlirad.passes.cpu.insert_lanes.values import Mask, Values


class Body:
    """The emitter of one loop's body, for its full vectors and for its remainder."""

    def __init__(
        self, values: Values, memory: Memory, meetings: Meetings, sums: LaneSums, groups: Groups
    ) -> None:
        self.values, self.memory, self.meetings, self.sums = values, memory, meetings, sums
        self.groups = groups
        self.skipped = meetings.combined

    def block(self, block: ir.Block, mask: Mask) -> None:
        """Emit all ops of a block but its last."""
        for op in block_operations(block)[:-1]:
            with op.location:
                self._op(op, mask)

    def _op(self, op: ir.Operation, mask: Mask) -> None:
        if op in self.skipped:
            return
        if is_rare(op) and any(self.values.strides.stride_of(r) is None for r in op.results):
            rare_branch(self.values, op, mask)
        else:
            _EMITTERS.get(op.name, Body._emit_elementwise)(self, op, mask)

    def _emit_elementwise(self, op: ir.Operation, mask: Mask) -> None:
        values, results = self.values, list(op.results)
        differs = values.strides.stride_of(results[0]) is None
        comparison = self._compare_indices(op) if differs else None
        if comparison is not None:
            values.set(results[0], comparison)
            return
        if differs:
            operands = self._vectors(op, mask)
        else:
            operands = [values.first(operand) for operand in op.operands]
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        for old, new in zip(results, copy.results):
            if differs:
                new.set_type(values.vector_type(old.type))
            values.set(old, new)

    def _vectors(self, op: ir.Operation, mask: Mask) -> list[ir.Value]:
        """The operands of an op for all lanes."""
        values, inputs = self.values, list(op.operands)
        if op.name == Arith.SELECT and values.strides.is_uniform(inputs[0]):
            return [values.first(inputs[0]), *map(values.vector, inputs[1:])]
        operands = [values.vector(value) for value in inputs]
        if mask is not None and is_integer_division(op):
            # it traps if the divisor is 0, as it may be in lanes that are not active
            ones = values.splat(1, inputs[1].type)
            operands[1] = values.select(mask, operands[1], ones)
        return operands

    def _compare_indices(self, op: ir.Operation) -> ir.Value | None:
        """A comparison of indices that go on in steps: of lanes' numbers with a limit, in 32
        bits."""
        if op.name != Arith.CMPI or not isinstance(op.operands[0].type, ir.IndexType):
            return None
        left, right = (self.values.strides.stride_of(v) for v in op.operands)
        kind = b.predicate_of(op)
        if left is None or right is None or kind > b.SGE:
            return None
        stride, i32 = left - right, b.integer_type(32)
        reach = abs(stride) * self.values.width + 1
        first, second = (self.values.first(v) for v in op.operands)
        limit = b.sub(second, first)
        limit = b.minsi(limit, b.index(reach))
        limit = b.maxsi(limit, b.index(-reach))
        small = self.values.broadcast(b.index_cast(limit, i32))
        return b.compare(kind, self.values.steps(stride, i32), small)

    def _load(self, op: ir.Operation, mask: Mask) -> None:
        group = self.groups.group_of(op) if mask is None else None
        if group is None:
            self.values.set(op.results[0], self.memory.load(op, mask))
        elif op == group.at:
            self.memory.load_together(group)

    # Updates.

    def _store(self, op: ir.Operation, mask: Mask) -> None:
        update = self.meetings.updates.get(op)
        group = self.groups.group_of(op) if mask is None else None
        if group is not None:
            if op == group.at:
                self._store_together(group)
            return
        if update is None:
            self.memory.store(op, mask)
            return
        indices = list(op.operands)[2:]
        together = all(map(self.values.strides.is_uniform, indices))
        if together and update.is_sum:
            self._emit_sum(update, mask)
        elif not self._emit_in_cells(update, mask):
            self._emit_per_lane([update.load, *update.steps, update.store], update.load, mask)

    def _store_together(self, group: Group) -> None:
        if group.cell is None:
            self.memory.store_together(group)
        else:
            self.memory.update_together(group, [self.meetings.updates[op] for op in group.ops])

    def _emit_sum(self, update: Update, mask: Mask) -> None:
        """Combine what lanes add to one element, then add that."""
        values, step = self.values, update.steps[0]
        name = STEPS[step.name]
        neutral = values.splat(neutral_of(name, update.value.type), update.value.type)
        vector = values.select(mask, values.vector(update.value), neutral)
        if self.sums.takes(update):
            self.sums.add(update, vector, step.name)
            return
        total = reduce_in_halves(vector, name, attributes_of(step))
        places = [values.first(index) for index in list(update.load.operands)[1:]]
        memref = update.load.operands[0]
        old = b.read(memref, places)
        new = b.make(step.name, old.type, [old, total], **attributes_of(step))
        b.write(new, memref, places)

    def _emit_in_cells(self, update: Update, mask: Mask) -> bool:
        """Update elements at known distances from cells of the lanes, one lane after the other;
        return whether they are such."""
        load, values = update.load, self.values
        places = self.memory.lane_places(load.operands[0], list(load.operands)[1:], mask)
        if places is None:
            return False
        flat, offsets = places
        marks, store_marks = attributes_of(load), attributes_of(update.store)
        lane_results = []
        for number, offset in enumerate(offsets):
            old = b.make(Memref.LOAD, load.results[0].type, [flat, offset], **marks)
            lane_values: dict[ir.Value, ir.Value] = {load.results[0]: old}
            self._steps_in_lane(update.steps, number, lane_values)
            value = update.store.operands[0]
            if value not in lane_values:
                lane_values[value] = self._value_in_lane(value, number)
            b.effect(Memref.STORE, [lane_values[value], flat, offset], **store_marks)
            lane_results.append(old)
        ops = (*update.steps, update.store)
        if any(use.owner.operation not in ops for use in load.results[0].uses):
            values.set(load.results[0], from_elements(lane_results))
        return True

    def _emit_per_lane(self, ops: Sequence[ir.Operation], result: ir.Operation, mask: Mask) -> None:
        """Run ops in one lane after the other, and keep what one of them gives."""
        values, lane_results = self.values, []
        has_results = any(
            use.owner.operation not in ops for value in result.results for use in value.uses
        )
        for number in range(values.width):
            lane = self._lane(ops, number, result)
            if mask is None:
                lane_results.append(lane())
                continue
            type_ = result.results[0].type
            active = extract(mask, number)
            choice = b.if_else(active, [type_] if has_results else [], with_else=has_results)
            with ir.InsertionPoint(choice.then), values.scope():
                value = lane()
                b.yield_([value] if has_results else [])
            if has_results:
                with ir.InsertionPoint(choice.otherwise):
                    b.yield_([b.number(0, type_)])
                lane_results.append(choice.results[0])
        if has_results:
            values.set(result.results[0], from_elements(lane_results))

    def _lane(
        self, ops: Sequence[ir.Operation], number: int, result: ir.Operation
    ) -> Callable[[], ir.Value]:
        """Return what runs ops in one lane, and gives what one of them gives there."""

        def run() -> ir.Value:
            lane_values: dict[ir.Value, ir.Value] = {}
            self._steps_in_lane(ops, number, lane_values)
            return lane_values[result.results[0]]

        return run

    def _steps_in_lane(
        self, ops: Sequence[ir.Operation], number: int, lane_values: dict[ir.Value, ir.Value]
    ) -> None:
        """Run ops in one lane, whose values are known or are noted here."""
        inside: set[ir.Value] = {v for op in ops for v in op.results}
        for op in ops:
            for inner in (op, *operations(op)):
                inside.update(inner.results)
                for region in inner.regions:
                    inside.update(a for block in region.blocks for a in block.arguments)
                for operand in inner.operands:
                    if operand not in inside and operand not in lane_values:
                        lane_values[operand] = self._value_in_lane(operand, number)
            clone(op, lane_values)

    def _value_in_lane(self, value: ir.Value, number: int) -> ir.Value:
        if isinstance(value.type, ir.MemRefType):
            return value
        return self.values.lane(value, number)


_EMITTERS: dict[str, Callable[[Body, ir.Operation, Mask], None]] = {
    Scf.IF: branch,
    Scf.FOR: emit_for,
    Scf.WHILE: emit_while,
    Memref.LOAD: Body._load,
    Memref.STORE: Body._store,
    Memref.ALLOC: lambda body, op, mask: body.memory.allocate(op, mask),
    Memref.DEALLOC: lambda body, op, mask: body.memory.release(op),
    Memref.ATOMIC_RMW: lambda body, op, mask: body._emit_per_lane([op], op, mask),
    Memref.GENERIC_ATOMIC_RMW: lambda body, op, mask: body._emit_per_lane([op], op, mask),
}


def neutral_of(name: str, type_: ir.Type) -> float:
    """Return what changes nothing if an op combines it with another value."""
    if name in (Arith.MULF, Arith.MULI):
        return 1
    if name in (Arith.ADDF, Arith.ADDI, Arith.ORI, Arith.XORI, Arith.MAXUI):
        return 0
    if name in (Arith.ANDI, Arith.MINUI):
        return -1
    top = (1 << (ir.IntegerType(type_).width - 1)) - 1
    return top if name == Arith.MINSI else -top - 1
