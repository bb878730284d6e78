"""The marked sums of a loop, in lanes."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of
from mlirad.ir.elementary.vector_math import FUNCTIONS
from mlirad.ir.marks.rounding import EXACT
from mlirad.ir.ops import Arith, Math, Memref, Vector
from mlirad.ir.vectors import reduce_in_halves
from mlirad.ir.walk import (
    at_start,
    before,
    behind,
    block_operations,
    constant_integer,
    entry_of,
    is_defined_in,
)

_WIDTH = 16
_SPREAD = (Arith.ADDF, Arith.SUBF, Arith.MULF, Arith.DIVF, Arith.NEGF, Math.ABSF, Math.SQRT)


class _Sum:
    """One sum of a loop: its step, and the memory of its lanes."""

    def __init__(
        self, function: ir.Operation, loop: ir.Operation, position: int, step: ir.Operation
    ) -> None:
        self.loop, self.position, self.step = loop, position, step
        self.carried = loop.regions[0].blocks[0].arguments[1 + position]
        self.type = step.results[0].type
        with at_start(entry_of(function), loop.location):
            self.vector = ir.VectorType.get([_WIDTH], self.type)
            self.lanes = b.alloca(ir.MemRefType.get([_WIDTH], self.type))

    def zeros(self) -> ir.Value:
        """16 zeros."""
        return b.number(0.0, self.vector)

    def keep(self, vector: ir.Value) -> None:
        """Write all lanes."""
        b.effect(Vector.STORE, [vector, self.lanes, b.index(0)])

    def add_in_place(self, trip: ir.Value) -> None:
        """Let the step of a trip add to its lane, and the loop carry nothing; inserts in front of
        the step."""
        lane = b.rem(trip, b.index(_WIDTH))
        self.step.operands[list(self.step.operands).index(self.carried)] = b.read(
            self.lanes, [lane]
        )
        terminator = block_operations(self.step.block)[-1]
        with before(terminator):
            b.write(self.step.results[0], self.lanes, [lane])
        terminator.operands[self.position] = self.carried

    def total(self) -> ir.Value:
        """Return the initial value plus the lanes, which are added in halves."""
        exact = {EXACT: ir.UnitAttr.get()}
        lanes = b.make(Vector.LOAD, self.vector, [self.lanes, b.index(0)])
        lane_total = reduce_in_halves(lanes, Arith.ADDF, exact)
        start = self.loop.operands[3 + self.position]
        return b.addf(start, lane_total, **exact)


def split(function: ir.Operation, loop: ir.Operation, steps: dict[int, ir.Operation]) -> None:
    """Add up the sums of a loop in lanes, by their steps, at their positions among its results."""
    sums = [_Sum(function, loop, position, step) for position, step in steps.items()]
    body = loop.regions[0].blocks[0]
    bounds = bounds_of(loop)[0]
    with before(loop):
        for sum_ in sums:
            sum_.keep(sum_.zeros())
        if _Lanes.suit(loop, sums):
            loop.operands[0] = _Lanes(loop, sums).run()
    for sum_ in sums:
        with before(sum_.step):
            sum_.add_in_place(bounds.trip(body.arguments[0]))
    with behind(loop):
        for sum_ in sums:
            loop.results[sum_.position].replace_all_uses_with(sum_.total())


class _Lanes:
    """The trips of a loop that come in sixteens, as a loop over vectors."""

    def __init__(self, loop: ir.Operation, sums: list[_Sum]) -> None:
        self.loop, self.sums = loop, sums
        self.body = loop.regions[0].blocks[0]
        self.vectors: dict[ir.Value, ir.Value] = {}
        self.scalars: dict[ir.Value, ir.Value] = {}

    @staticmethod
    def suit(loop: ir.Operation, sums: list[_Sum]) -> bool:
        """Return whether a loop is all sums, of what is computed alike for neighboring
        elements."""
        body = loop.regions[0].blocks[0]
        ops = block_operations(body)[:-1]
        return (
            len(sums) == len(loop.results)
            and constant_integer(loop.operands[2]) == 1
            and all(_is_spread(op) or _is_neighbours(loop, op) or _is_index(op) for op in ops)
        )

    def run(self) -> ir.Value:
        """Emit the loop, and write its lanes; where the other trips begin."""
        bounds, width = bounds_of(self.loop)[0], b.index(_WIDTH)
        low = bounds.lower
        last = b.add(low, b.mul(b.div(bounds.trips(), width), width))
        op = b.for_loop(low, last, width, [sum_.zeros() for sum_ in self.sums])
        block = op.body
        with ir.InsertionPoint(block):
            self.scalars[self.body.arguments[0]] = block.arguments[0]
            for sum_, carried in zip(self.sums, list(block.arguments)[1:]):
                self.vectors[sum_.carried] = carried
            for inner in block_operations(self.body)[:-1]:
                with inner.location:
                    self._op(inner)
            b.yield_([self.vectors[sum_.step.results[0]] for sum_ in self.sums])
        for sum_, total in zip(self.sums, op.results):
            sum_.keep(total)
        return last

    def _op(self, op: ir.Operation) -> None:
        if _is_index(op):
            copy = op.clone()
            for position, operand in enumerate(op.operands):
                copy.operands[position] = self.scalars.get(operand, operand)
            self.scalars.update(zip(op.results, copy.results))
            return
        vector = ir.VectorType.get([_WIDTH], op.results[0].type)
        if op.name == Memref.LOAD:
            self.vectors[op.results[0]] = b.make(
                Vector.LOAD, vector, [self.scalars.get(v, v) for v in op.operands]
            )
            return
        attributes = {name: op.attributes[name] for name in op.attributes}
        self.vectors[op.results[0]] = b.make(
            op.name, vector, [self._vector(v) for v in op.operands], **attributes
        )

    def _vector(self, value: ir.Value) -> ir.Value:
        if value not in self.vectors:
            self.vectors[value] = b.make(
                Vector.BROADCAST, ir.VectorType.get([_WIDTH], value.type), [value]
            )
        return self.vectors[value]


def _is_index(op: ir.Operation) -> bool:
    return op.name in (Arith.ADDI, Arith.SUBI, Arith.MULI, Arith.CONSTANT) and isinstance(
        op.results[0].type, ir.IndexType
    )


def _is_spread(op: ir.Operation) -> bool:
    """Return whether an op makes one float of others, and the same one in a vector."""
    return op.name in _SPREAD or (op.name in FUNCTIONS and op.name != Math.POWF)


def _is_neighbours(loop: ir.Operation, op: ir.Operation) -> bool:
    """Return whether an op loads floats that lie side by side for trips that follow one another."""
    if op.name != Memref.LOAD or not isinstance(op.results[0].type, ir.FloatType):
        return False
    memref = ir.MemRefType(op.operands[0].type)
    strides, _ = memref.get_strides_and_offset()
    indices = list(op.operands)[1:]
    return (
        bool(indices)
        and strides[-1] == 1
        and _moves_by_one(loop, indices[-1])
        and not any(is_defined_in(v, loop) for v in (op.operands[0], *indices[:-1]))
    )


def _moves_by_one(loop: ir.Operation, index: ir.Value) -> bool:
    if index == loop.regions[0].blocks[0].arguments[0]:
        return True
    if isinstance(index, ir.BlockArgument) or index.owner.operation.name != Arith.ADDI:
        return False
    left, right = index.owner.operation.operands
    return (_moves_by_one(loop, left) and not is_defined_in(right, loop)) or (
        _moves_by_one(loop, right) and not is_defined_in(left, loop)
    )
