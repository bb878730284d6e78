"""Values that updates of a parallel loop need and that are dear to compute again for each of them:
kept in memory of the launch, an element an iteration, by a loop in front. Of a box that is known at
the launch only, on a stack that the host allocates."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.dialect import field, grad
from mlirad.dialect.layout_rules import ELEMENT_SIZES
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of, product
from mlirad.ir.memory.launch_memory import scratch
from mlirad.ir.ops import Func
from mlirad.ir.structured import Parallel
from mlirad.ir.walk import (
    accesses,
    at_end,
    attributes_of,
    before,
    block_operations,
    clone,
    enclosing,
    is_defined_in,
    is_inside,
    operations,
)
from mlirad.passes.gpu.gather_shifted_updates.operation_costs import LOAD, cost_of
from mlirad.passes.gpu.gather_shifted_updates.repeated_body import Values
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Update

CHEAP = 2 * LOAD  # what a value costs that is computed again instead
LARGEST = 1 << 28  # bytes of each value


class KeptValues:
    """The values for some updates of a loop."""

    def __init__(self, loop: ir.Operation, updates: list[Update]) -> None:
        self.loop = loop
        needed = {op for update in updates for op in update.needed}
        self.top = [op for op in block_operations(Parallel(loop).body) if op in needed]
        self.values = [
            value for op in self.top for value in op.results if self._is_asked(value, updates)
        ]

    @property
    def is_possible(self) -> bool:
        """Return whether there are any, all can be kept, and the loop's box is known, or that of an
        array that the loop goes through."""
        if not self.values or any(str(value.type) not in ELEMENT_SIZES for value in self.values):
            return False
        trips = [span.trips for span in spans(self.loop)]
        if None in trips:
            return self._goes_through_array()
        return 0 < 8 * prod(count or 0 for count in trips) <= LARGEST

    def _goes_through_array(self) -> bool:
        """Return whether each iteration accesses an element of its own of an array, so that what is
        kept takes no more memory than that; the function allocates it."""
        box = set(Parallel(self.loop).indices)
        return enclosing(self.loop).name == Func.FUNC and any(
            enclosing(op) == self.loop and box <= set(indices)
            for op, _, indices in accesses(self.loop)
        )

    def producers(self) -> set[ir.Operation]:
        """The operations that only make the kept values."""
        producers: set[ir.Operation] = set()
        for value in self.values:
            self._add_producers(value, producers)
        return producers

    def keep(self, module: ir.Operation) -> None:
        """Compute the values in front of the loop, and load them in it."""
        box, producers = Parallel(self.loop), self.producers()
        with before(self.loop):
            arrays = [self._array(module, value.type) for value in self.values]
            front = b.parallel_loop(box.lower, box.upper, box.steps, attributes_of(self.loop))
        values: Values = dict(zip(box.indices, front.indices))
        with at_end(front.body, self.loop.location):
            for op in [op for op in self.top if op in producers]:
                clone(op, values)
            for array, value in zip(arrays, self.values):
                array.store(values[value], _places(front))
            b.end_parallel()
        for array, value in zip(arrays, self.values):
            op = value.owner.operation
            with before(op):
                value.replace_all_uses_with(array.load(_places(box)))

    def _array(self, module: ir.Operation, element: ir.Type) -> _FixedArray | _OpenArray:
        trips = [span.trips for span in spans(self.loop)]
        extents = [trip for trip in trips if trip is not None]
        if len(extents) == len(trips):
            return _FixedArray(scratch(module, element, extents))
        counts = [bounds.trips() for bounds in bounds_of(self.loop)]
        return _OpenArray(grad.alloc(element, product(counts)), counts)

    def _is_asked(self, value: ir.OpResult, updates: list[Update]) -> bool:
        """Return whether a dear value is an update's, or is used where one is made."""
        producers: set[ir.Operation] = set()
        self._add_producers(value, producers)
        if sum(map(cost_of, producers)) <= CHEAP:
            return False
        around = {op for update in updates for op in update.owners}
        return any(
            use.owner.operation in around
            or any(use.owner.operation == update.op for update in updates)
            or any(is_inside(use.owner.operation, op) for op in around)
            for use in value.uses
        )

    def _add_producers(self, value: ir.Value, producers: set[ir.Operation]) -> None:
        pending = [value]
        while pending:
            value = pending.pop()
            if isinstance(value, ir.BlockArgument) or not is_defined_in(value, self.loop):
                continue
            op = value.owner.operation
            if enclosing(op) == self.loop and op not in producers:
                producers.add(op)
                inside = [operand for child in operations(op) for operand in child.operands]
                pending += [*op.operands, *inside]


class _FixedArray(NamedTuple):
    """An element an iteration, in a field of the launch."""

    memory: ir.Value

    def store(self, value: ir.Value, places: list[ir.Value]) -> None:
        field.store(value, self.memory, places)

    def load(self, places: list[ir.Value]) -> ir.Value:
        return field.load(self.memory, places)


class _OpenArray(NamedTuple):
    """An element per iteration, on a stack in row-major order."""

    stack: ir.Value
    extents: list[ir.Value]

    def store(self, value: ir.Value, places: list[ir.Value]) -> None:
        grad.push(value, self.stack, self._number(places))

    def load(self, places: list[ir.Value]) -> ir.Value:
        return grad.pop(self.stack, self._number(places))

    def _number(self, places: list[ir.Value]) -> ir.Value:
        number = places[0]
        for place, extent in zip(places[1:], self.extents[1:]):
            number = b.add(b.mul(number, extent), place)
        return number


def _places(box: Parallel) -> list[ir.Value]:
    """The numbers of the trips of an iteration."""
    return [b.sub(index, low) for index, low in zip(box.indices, box.lower)]
