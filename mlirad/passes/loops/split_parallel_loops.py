"""Cut every parallel loop into one chunk a thread: a private function over a range of one axis,
called serially where the work is small. Reductions live in registers, in blocks, and are added over
the threads in order.
"""

from dataclasses import dataclass, field
from math import prod

from mlirad.analysis.trips import UNKNOWN, spans
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicOp, ChunkOp, GetOp, atomic, is_atomic, split_access
from mlirad.ir import build as b
from mlirad.ir.limits import Threads, Worth
from mlirad.ir.requirements import KERNELS
from mlirad.ir.rounding import EXACT, round_like, update_marks
from mlirad.ir.structured import REDUCE, Parallel, is_for, is_parallel, is_serial_loop, is_while
from mlirad.ir.walk import (
    Array,
    array_root,
    at_end,
    at_start,
    attributes_of,
    before,
    block_operations,
    captured,
    constant_integer,
    defining_op,
    enclosing,
    functions,
    is_defined_in,
    operations,
    owner_operation,
)

BLOCK = 1024  # iterations summed into one register before they join the chunk's sum

REQUIRES = KERNELS


def split_parallel_loops(
    module: ir.Operation, *, threads: Threads = 1, worth: Worth = 100_000
) -> None:
    """Outline parallel loops as chunk functions, and call them on one thread or on `threads`.

    A loop of fewer operations than `worth` is not worth waking threads for.
    """
    for function in functions(module):
        loops = [op for op in operations(function) if is_parallel(op)]
        for number, loop in enumerate(loops):
            name = f"{ir.StringAttr(function.attributes['sym_name']).value}.chunk{number}"
            _Split(module, function, loop, name, threads, worth).run()


@dataclass
class _Reduction:
    """One cell that all iterations update."""

    kind: str
    array: ir.Value
    indices: list[ir.Value]
    type: ir.Type
    updates: list[ir.Operation] = field(default_factory=list)

    def neutral(self) -> ir.Value:
        floats = {"add": 0.0, "mul": 1.0, "min": float("inf"), "max": float("-inf")}
        if b.is_float(self.type):
            return b.number(floats[self.kind], self.type)
        bits = ir.IntegerType(self.type).width
        top = (1 << (bits - 1)) - 1
        integers = {
            "add": 0,
            "mul": 1,
            "min": top,
            "max": -top - 1,
            "minu": -1,
            "maxu": 0,
            "and": -1,
            "or": 0,
            "xor": 0,
        }
        return b.number(integers[self.kind], self.type)

    def combine(self, left: ir.Value, right: ir.Value) -> ir.Value:
        """The update, rounded as the program's is."""
        return round_like(b.combine(self.kind, left, right), self.updates[0])

    @property
    def is_exact(self) -> bool:
        """Whether the order of the updates matters, because decisions are made of what they
        leave."""
        return any(EXACT in op.attributes for op in self.updates)


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
        self.reductions = self._find_reductions()

    def _find_reductions(self) -> list[_Reduction]:
        found: dict[Array, _Reduction] = {}
        for op in operations(self.loop):
            if is_atomic(op) and "field.reduce" in op.attributes:
                array, indices = split_access(op)
                root = array_root(array)
                if root not in found:
                    kind = AtomicOp(op).kind.value
                    found[root] = _Reduction(kind, array, indices, op.operands[0].type)
                found[root].updates.append(op)
        return list(found.values())

    def run(self) -> None:
        """Replace the loop."""
        outside = [v for v in captured(self.loop) if not _is_rematerialised(v)]
        bounds = [
            v
            for axis in range(self.rank)
            if axis != self.axis
            for v in (self.lower[axis], self.upper[axis])
        ]
        bounds = [v for v in bounds if not _is_rematerialised(v)]
        arguments = list(
            dict.fromkeys(
                [*outside, *bounds, *(s for s in self.steps if not _is_rematerialised(s))]
            )
        )
        self._make_chunk(arguments)
        with before(self.loop):
            totals = self._dispatch(arguments)
            for reduction, total in zip(self.reductions, totals):
                atomic(
                    total,
                    self._visible(reduction.array),
                    [self._visible(index) for index in reduction.indices],
                    reduction.kind,
                    {"field.plain": ir.UnitAttr.get(), **update_marks(reduction.updates[0])},
                )
        self.loop.erase()

    def _visible(self, value: ir.Value) -> ir.Value:
        """A value that the loop may compute inside, from values outside of it: before the loop."""
        if isinstance(value, ir.BlockArgument):
            return value
        if not _is_rematerialised(value) and not is_defined_in(value, self.loop):
            return value
        op = value.owner.operation
        operands = [self._visible(operand) for operand in op.operands]
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        return copy.results[0]

    # The chunk function.

    def _make_chunk(self, arguments: list[ir.Value]) -> None:
        inputs = [b.index_type()] * 3 + [v.type for v in arguments]
        results = [r.type for r in self.reductions]
        with ir.InsertionPoint(self.module.regions[0].blocks[0]), self.loop.location:
            chunk = ir.Operation.create(
                "func.func",
                [],
                [],
                {
                    "sym_name": ir.StringAttr.get(self.name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, results)),
                },
                regions=1,
            )
            entry = b.block(chunk, 0, inputs)
        mapping: dict[ir.Value, ir.Value] = dict(zip(arguments, list(entry.arguments)[3:]))
        with at_start(entry, self.loop.location):
            for value in [*captured(self.loop), *self.lower, *self.upper, *self.steps]:
                if value not in mapping and _is_rematerialised(value):
                    mapping[value] = owner_operation(value).clone().results[0]
        with at_end(entry, self.loop.location):
            low, high = entry.arguments[0], entry.arguments[1]
            for op in operations(self.loop):
                if ChunkOp.holds(op):
                    mapping[op.results[0]] = entry.arguments[2]
            sums = self._accumulators()
            self._nest(low, high, mapping, sums)
            ir.Operation.create("func.return", [], [b.read(s) for s in sums])

    def _accumulators(self) -> list[ir.Value]:
        slots = []
        for reduction in self.reductions:
            slot = b.slot(reduction.type)
            b.write(reduction.neutral(), slot)
            slots.append(slot)
        return slots

    def _join(self, outer: list[ir.Value], inner: list[ir.Value]) -> None:
        for reduction, into, part in zip(self.reductions, outer, inner):
            b.write(reduction.combine(b.read(into), b.read(part)), into)

    def _nest(
        self, low: ir.Value, high: ir.Value, mapping: dict[ir.Value, ir.Value], sums: list[ir.Value]
    ) -> None:
        axes = [self.axis, *(a for a in range(self.rank) if a != self.axis)]
        step = mapping.get(self.steps[self.axis], self.steps[self.axis])
        if self.rank == 1 and self.reductions and constant_integer(self.steps[0]) == 1:
            blocks = b.for_loop(low, high, b.index(BLOCK))
            start = blocks.body
            with at_end(start, self.loop.location):
                inner = self._accumulators()
                first = start.arguments[0]
                last = b.make("arith.minsi", b.index_type(), [b.add(first, b.index(BLOCK)), high])
                self._level(axes, 0, first, last, step, mapping, inner)
                self._join(sums, inner)
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
        block = loop.body
        axis = axes[position]
        mapping[self.body.arguments[axis]] = block.arguments[0]
        with at_end(block, self.loop.location):
            innermost = position + 1 == len(axes)
            nested = innermost and any(
                _in_loop(op, self.loop) for r in self.reductions for op in r.updates
            )
            inner = self._accumulators() if not innermost or nested else sums
            if innermost:
                self._clone_body(mapping, inner)
            else:
                after = axes[position + 1]
                first, last, stride = (
                    mapping.get(v, v)
                    for v in (self.lower[after], self.upper[after], self.steps[after])
                )
                self._level(axes, position + 1, first, last, stride, mapping, inner)
            if inner is not sums:
                self._join(sums, inner)
            b.yield_()

    def _clone_body(self, mapping: dict[ir.Value, ir.Value], sums: list[ir.Value]) -> None:
        slots = {
            op: (reduction, slot)
            for reduction, slot in zip(self.reductions, sums)
            for op in reduction.updates
        }
        for op in block_operations(self.body):
            if op.name != REDUCE and not ChunkOp.holds(op):
                clone_with(op, mapping, slots)

    # The call.

    def _dispatch(self, arguments: list[ir.Value]) -> list[ir.Value]:
        low, high = self.lower[self.axis], self.upper[self.axis]
        types = [r.type for r in self.reductions]
        cost = self._cost()
        trips = self.spans[self.axis].trips
        if self.threads == 1 or (trips is not None and trips * cost < self.worth):
            return self._serially(low, high, arguments)
        if trips is not None:
            return self._in_parallel(low, high, arguments)
        enough = b.compare(b.SGE, b.sub(high, low), b.index(max(2, self.worth // cost)))
        choice = b.if_else(enough, types)
        for block, way in zip(choice.blocks, (self._in_parallel, self._serially)):
            with at_end(block, self.loop.location):
                b.yield_(way(low, high, arguments))
        return list(choice.results)

    def _serially(self, low: ir.Value, high: ir.Value, arguments: list[ir.Value]) -> list[ir.Value]:
        return self._call(low, high, b.index(0), arguments)

    def _call(
        self, low: ir.Value, high: ir.Value, number: ir.Value, arguments: list[ir.Value]
    ) -> list[ir.Value]:
        call = ir.Operation.create(
            "func.call",
            [r.type for r in self.reductions],
            [low, high, number, *arguments],
            {"callee": ir.FlatSymbolRefAttr.get(self.name)},
        )
        return list(call.results)

    def _in_parallel(
        self, low: ir.Value, high: ir.Value, arguments: list[ir.Value]
    ) -> list[ir.Value]:
        zero, one, threads = b.index(0), b.index(1), b.index(self.threads)
        parts = [
            b.make(
                "memref.alloca",
                ir.MemRefType.get([self.threads, 64 // 4], r.type),
                [],
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([0, 0]),
            )
            for r in self.reductions
        ]
        length = b.sub(high, low)
        loop = b.parallel_loop([zero], [threads], [one])
        with at_end(loop.body, self.loop.location):
            k = loop.indices[0]
            first = b.add(low, b.div(b.mul(length, k), threads))
            last = b.add(low, b.div(b.mul(length, b.add(k, one)), threads))
            for part, value in zip(parts, self._call(first, last, k, arguments)):
                b.write(value, part, [k, zero])
            b.end_parallel()
        return [self._total(reduction, part) for reduction, part in zip(self.reductions, parts)]

    def _total(self, reduction: _Reduction, part: ir.Value) -> ir.Value:
        values = [b.read(part, [b.index(k), b.index(0)]) for k in range(self.threads)]
        while len(values) > 1:
            paired = [reduction.combine(x, y) for x, y in zip(values[::2], values[1::2])]
            values = paired + values[len(paired) * 2 :]
        return values[0]

    def _cost(self) -> int:
        """The operations of an iteration along the axis; a fixed number where the order of a sum
        must be that of every other mode, whose loops hold more or less beside it."""
        if any(reduction.is_exact for reduction in self.reductions):
            return UNKNOWN
        others = [span.expected_trips for axis, span in enumerate(self.spans) if axis != self.axis]
        return max(1, _block_cost(self.body) * prod(others))


def _block_cost(block: ir.Block) -> int:
    total = 0
    for op in block_operations(block):
        inner = sum(_block_cost(inner) for region in op.regions for inner in region.blocks)
        if is_for(op):
            inner *= spans(op)[0].expected_trips
        elif is_while(op):
            inner *= UNKNOWN
        total += 1 + inner + (10 if op.name.startswith("math.") else 0)
    return min(total, 1 << 30)


def _is_rematerialised(value: ir.Value) -> bool:
    """Whether a value is better made again in the chunk than passed to it."""
    op = defining_op(value)
    return op is not None and (op.name == "arith.constant" or GetOp.holds(op))


def _in_loop(op: ir.Operation, outermost: ir.Operation) -> bool:
    parent = enclosing(op)
    while parent != outermost:
        if is_serial_loop(parent):
            return True
        parent = enclosing(parent)
    return False


def clone_with(
    op: ir.Operation,
    mapping: dict[ir.Value, ir.Value],
    slots: dict[ir.Operation, tuple[_Reduction, ir.Value]],
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
        copy = op.clone()
        for position, operand in enumerate(op.operands):
            if operand in mapping:
                copy.operands[position] = mapping[operand]
        mapping.update(zip(op.results, copy.results))
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
