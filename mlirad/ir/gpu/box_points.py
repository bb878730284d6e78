"""Points of the box of a loop, as the threads of a block count them, and what is computed of
them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import Bounds, box_digits, product
from mlirad.ir.walk import constant_integer, copy_with, is_defined_in, owner_operation

Values = dict[ir.Value, ir.Value]  # what stands for indices
_FEW = 1 << 31  # numbers that are counted in 32 bits


class Start(NamedTuple):
    """A point, and the index in which those behind it differ from it."""

    indices: Values
    last: ir.Value
    step: ir.Value

    def behind(self, count: ir.Value) -> Values:
        """The indices of the point so many behind, made at the insertion point."""
        return {
            **self.indices,
            self.last: b.add(self.indices[self.last], b.mul(count, self.step)),
        }


class Axis:
    """Indices that are counted through as one, the last of them first."""

    def __init__(self, indices: Sequence[ir.Value], bounds: Sequence[Bounds]) -> None:
        self.indices, self.bounds = list(indices), list(bounds)
        self.trips = [bound.trips() for bound in self.bounds]
        self.extent = product(self.trips)

    @property
    def count(self) -> int | None:
        """Return how many points there are, if that is known."""
        return constant_integer(self.extent)

    def at(self, number: ir.Value) -> Values:
        """The indices of a point, made at the insertion point."""
        digits = _digits(number, self.trips)
        return {
            index: bound.value(digit)
            for index, bound, digit in zip(self.indices, self.bounds, digits)
        }

    def start(self, number: ir.Value, count: int) -> Start | None:
        """A point with so many behind it that differ from it in the last index alone, where that is
        true of each such number."""
        last = constant_integer(self.trips[-1])
        if last is None or last % count:
            return None
        return Start(self.at(number), self.indices[-1], self.bounds[-1].step)

    def clamp(self, number: ir.Value, covered: int) -> ir.Value:
        """The number of a point, or that of the last one, where the axis is counted up to a
        multiple of so many."""
        if self.fills(covered):
            return number
        return b.minsi(number, b.sub(self.extent, b.index(1)))

    def fills(self, covered: int) -> bool:
        """Return whether the points are a multiple of so many."""
        return self.count is not None and self.count % covered == 0

    def has(self, number: ir.Value) -> ir.Value:
        """Return whether the axis has a point of a number."""
        return b.compare(b.SLT, number, self.extent)


def _digits(number: ir.Value, extents: Sequence[ir.Value]) -> list[ir.Value]:
    """The digits of a number, by divisions of 32 bits where these are enough."""
    sizes = [size for size in map(constant_integer, extents) if size is not None]
    if len(extents) < 2 or len(sizes) < len(extents) or prod(sizes) >= _FEW:
        return box_digits(number, extents)
    i32 = b.integer_type(32)
    digits: list[ir.Value] = []
    left = b.index_cast(number, i32)
    for size in reversed(sizes[1:]):
        digits.append(b.index_castui(b.rem(left, b.number(size, i32)), b.index_type()))
        left = b.div(left, b.number(size, i32))
    return [b.index_castui(left, b.index_type()), *reversed(digits)]


class Point:
    """The values that an iteration computes from its indices, computed for other indices."""

    def __init__(self, loop: ir.Operation, indices: Values) -> None:
        self.loop, self.values = loop, dict(indices)

    def value(self, old: ir.Value) -> ir.Value:
        """Return the value that replaces one of the loop, computed at the insertion point."""
        if old not in self.values:
            if not is_defined_in(old, self.loop):
                return old
            op = owner_operation(old)
            self.values[old] = copy_with(
                op, [self.value(operand) for operand in op.operands]
            ).result
        return self.values[old]
