"""The boxes that `for` and parallel loops run through: their bounds, and what is computed of them
where they are not known while compiling.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.structured import is_for, is_parallel
from mlirad.ir.walk import at_end, constant_integer


class Bounds(NamedTuple):
    """The values of one index of a loop: from `lower` in steps, as long as they are below
    `upper`."""

    lower: ir.Value
    upper: ir.Value
    step: ir.Value

    def trips(self) -> ir.Value:
        """Return how many values there are, made at the insertion point."""
        count = fold(Arith.SUBI, self.upper, self.lower)
        if constant_integer(self.step) != 1:
            count = fold(Arith.CEILDIVSI, count, self.step)
        return fold(Arith.MAXSI, count, b.index(0))

    def trip(self, index: ir.Value) -> ir.Value:
        """The number of the trip in which the index has a value, made at the insertion point."""
        return b.div(b.sub(index, self.lower), self.step)

    def value(self, trip: ir.Value) -> ir.Value:
        """The value of the index in the trip of a number, made at the insertion point."""
        return b.add(self.lower, b.mul(trip, self.step))


def bounds_of(loop: ir.Operation) -> list[Bounds]:
    """The bounds of the indices of a `for` or a parallel loop; none for other ops."""
    operands = loop.operands
    if is_for(loop):
        return [Bounds(operands[0], operands[1], operands[2])]
    rank = len(loop.regions[0].blocks[0].arguments) if is_parallel(loop) else 0
    return [
        Bounds(operands[axis], operands[rank + axis], operands[2 * rank + axis])
        for axis in range(rank)
    ]


def bounds_of_index(value: ir.Value) -> Bounds | None:
    """The bounds of an index of a loop; None for other values."""
    if not isinstance(value, ir.BlockArgument):
        return None
    loop, position = value.owner.owner.operation, value.arg_number
    if is_parallel(loop) or (is_for(loop) and position == 0):
        return bounds_of(loop)[position]
    return None


def box_size(loop: ir.Operation) -> tuple[list[ir.Value], ir.Value]:
    """Iterations along each axis of a loop, and of all of it, made at the insertion point."""
    extents = [bounds.trips() for bounds in bounds_of(loop)]
    return extents, product(extents)


def product(extents: Sequence[ir.Value]) -> ir.Value:
    """Return how many points a box has, made at the insertion point."""
    total = extents[0] if extents else b.index(1)
    for extent in extents[1:]:
        total = fold(Arith.MULI, total, extent)
    return total


def box_indices(loop: ir.Operation, extents: list[ir.Value], number: ir.Value) -> list[ir.Value]:
    """The loop's indices in the iteration of a number, counted in row-major order; made at the
    insertion point."""
    return [
        bounds.value(digit) for bounds, digit in zip(bounds_of(loop), box_digits(number, extents))
    ]


def box_number(
    loop: ir.Operation,
    extents: Sequence[ir.Value],
    values: Mapping[ir.Value, ir.Value] | None = None,
    first: ir.Value | None = None,
) -> ir.Value:
    """The number of an iteration of a loop, counted in row-major order from the start of the box,
    or of the `first` of several boxes; made at the insertion point, of the loop's indices or of the
    `values` that stand for them."""
    substitutes = {} if values is None else values
    number = b.index(0) if first is None else first
    indices = loop.regions[0].blocks[0].arguments
    for index, bounds, extent in zip(indices, bounds_of(loop), extents):
        number = b.add(b.mul(number, extent), bounds.trip(substitutes.get(index, index)))
    return number


def box_digits(number: ir.Value, extents: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the position along each axis of a box of a number that is counted in row-major order,
    computed at the insertion point."""
    if not extents:
        return []
    digits = []
    for extent in reversed(extents[1:]):
        digits.append(b.rem(number, extent))
        number = b.div(number, extent)
    return [number, *reversed(digits)]


def for_each_index(
    extents: Sequence[ir.Value],
    run: Callable[[Sequence[ir.Value]], None],
    indices: Sequence[ir.Value] = (),
) -> None:
    """Run something for every index of a box that begins with some, by a loop for each axis that is
    left."""
    if len(indices) == len(extents):
        run(indices)
        return
    loop = b.for_loop(b.index(0), extents[len(indices)], b.index(1))
    with at_end(loop.body, loop.op.location):
        for_each_index(extents, run, [*indices, loop.induction])
        b.yield_()


def fold(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """Make an op on index values, or the constant that it computes from constants."""
    left, right = constant_integer(x), constant_integer(y)
    if left is not None and right is not None:
        return b.index(_ON_CONSTANTS[name](left, right))
    return b.make(name, x.type, [x, y])


_ON_CONSTANTS: dict[str, Callable[[int, int], int]] = {
    Arith.ADDI: operator.add,
    Arith.SUBI: operator.sub,
    Arith.MULI: operator.mul,
    Arith.DIVUI: operator.floordiv,
    Arith.REMUI: operator.mod,
    Arith.CEILDIVSI: lambda x, y: -(-x // y),
    Arith.MINSI: min,
    Arith.MAXSI: max,
}
