"""A box that holds all points of a definition, also of one whose bounds depend on where one is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mlirad.bindings import ir
from mlirad.dialect import te
from mlirad.errors import TaichiDerivativeError
from mlirad.ir import build as b
from mlirad.ir.ops import Arith
from mlirad.ir.reports.location import source_location
from mlirad.ir.walk import constant_integer, defining_op
from mlirad.sweeps.tensors.copies import At
from mlirad.sweeps.tensors.definition import Definition, extents, is_of_sizes

Interval = tuple[int, int]  # the least and the greatest value


class Covering:
    """The extents of the box, at the insertion point, and which of its points are the definition's.

    `of_reductions` says whether the indices of reductions count. Raises TaichiDerivativeError where
    bounds that depend on where one is are made of more than numbers that are known.
    """

    def __init__(self, definition: Definition, of_reductions: bool) -> None:
        self.indices = list(definition.indices)
        self.extents = extents(definition.op.results[0])
        self._first = [0] * len(self.indices)
        self._bounds: list[tuple[ir.Value, ir.Value, ir.Value]] = []
        intervals: dict[ir.Value, Interval] = {}
        for index, extent in zip(self.indices, self.extents):
            number = constant_integer(extent)
            if number is not None:
                intervals[index] = 0, number - 1
        for op in definition.reductions if of_reductions else []:
            for index, bounds in zip(te.body_of(op).arguments, te.bounds_of(op)):
                self._add(op, index, bounds, intervals)

    def _add(
        self,
        op: ir.Operation,
        index: ir.Value,
        bounds: tuple[ir.Value, ir.Value],
        intervals: dict[ir.Value, Interval],
    ) -> None:
        low, high = bounds
        ends = _interval(low, intervals), _interval(high, intervals)
        self.indices.append(index)
        if ends[0] is not None and ends[1] is not None:
            intervals[index] = ends[0][0], ends[1][1] - 1
        if constant_integer(low) == 0 and is_of_sizes(high):
            self.extents.append(At({}).value(high))
            self._first.append(0)
            return
        if ends[0] is None or ends[1] is None:
            raise TaichiDerivativeError(
                "cannot differentiate a read at an index from data, in a sum whose bounds depend "
                "on sizes and on the element: for a second derivative, use te.jvp of the first one",
                source_location(op.location),
            )
        self.extents.append(b.index(max(ends[1][1] - ends[0][0], 0)))
        self._first.append(ends[0][0])
        self._bounds.append((index, low, high))

    def points(self, at: Sequence[ir.Value]) -> dict[ir.Value, ir.Value]:
        """The indices of the definition at a point of the box."""
        moved = [
            b.add(value, b.index(first)) if first else value
            for value, first in zip(at, self._first)
        ]
        return dict(zip(self.indices, moved))

    def inside(self, points: Mapping[ir.Value, ir.Value]) -> ir.Value | None:
        """Return whether a point of the box is one of the definition's; None where all are."""
        at, tests = At(points), []
        for index, low, high in self._bounds:
            tests.append(b.compare(b.SGE, points[index], at.value(low)))
            tests.append(b.compare(b.SLT, points[index], at.value(high)))
        return b.all_of(tests) if tests else None


def _interval(value: ir.Value, intervals: Mapping[ir.Value, Interval]) -> Interval | None:
    """Return between which numbers an integer lies; None where that is not known."""
    number = constant_integer(value)
    if number is not None:
        return number, number
    op = defining_op(value)
    if value in intervals or op is None:
        return intervals.get(value)
    operand_intervals = [_interval(operand, intervals) for operand in list(op.operands)[-2:]]
    if (
        op.name == Arith.SELECT
        and operand_intervals[0] is not None
        and operand_intervals[1] is not None
    ):
        return min(operand_intervals[0][0], operand_intervals[1][0]), max(
            operand_intervals[0][1], operand_intervals[1][1]
        )
    if (
        op.name not in _ENDS
        or len(operand_intervals) != 2
        or operand_intervals[0] is None
        or operand_intervals[1] is None
    ):
        return None
    (a, c), (d, e) = operand_intervals[0], operand_intervals[1]
    if op.name in (Arith.FLOORDIVSI, Arith.CEILDIVSI) and not d == e > 0:
        return None
    ends = [_ENDS[op.name](left, right) for left in (a, c) for right in (d, e)]
    return min(ends), max(ends)


_ENDS: dict[str, Callable[[int, int], int]] = {
    Arith.ADDI: lambda a, c: a + c,
    Arith.SUBI: lambda a, c: a - c,
    Arith.MULI: lambda a, c: a * c,
    Arith.MINSI: min,
    Arith.MAXSI: max,
    Arith.FLOORDIVSI: lambda a, c: a // c,
    Arith.CEILDIVSI: lambda a, c: -(-a // c),
}
