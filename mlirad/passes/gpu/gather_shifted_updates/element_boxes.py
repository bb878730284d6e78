"""The boxes of elements that updates of a parallel loop reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mlirad.analysis.linear import Linear, build_sum, number
from mlirad.analysis.meetings import Meetings
from mlirad.bindings import ir
from mlirad.dialect.field import dim
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index, fold
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer
from mlirad.passes.gpu.gather_shifted_updates.repeated_body import invariant
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Solution, Update


class Reach(NamedTuple):
    """The elements along one axis from `low` up to `high`, which is not one of them; with the
    numbers that these are, if they are known."""

    low: ir.Value
    high: ir.Value
    least: int | None
    end: int | None


def reach(meetings: Meetings, group: Sequence[Update], variable: ir.Value) -> Reach:
    """The elements that some updates reach along the axis that gives a variable, made in front of
    their loop: those of the array at most."""
    first = group[0]
    axis = first.cell.axes.index(variable)
    extent = dim_of(meetings, first, axis)
    solutions = [update.solutions[variable] for update in group]
    low, high = (_common_end(meetings, solutions, highest=end) for end in (False, True))
    start, end = b.index(0), extent
    if low is not None:
        start = fold(Arith.MAXSI, _build_end(meetings, low), start)
    if high is not None:
        end = fold(Arith.MINSI, _build_end(meetings, high.plus(number(1))), end)
    return Reach(start, end, constant_integer(start), constant_integer(end))


def dim_of(meetings: Meetings, update: Update, axis: int) -> ir.Value:
    """An extent of the array of an update."""
    array = invariant(update.array, meetings.loop, {})
    extent = update.extent(axis)
    return dim(array, axis) if extent is None else b.index(extent)


def _end(meetings: Meetings, solution: Solution, *, highest: bool) -> Linear[ir.Value] | None:
    """The first or the last element that is reached; None if that is not known."""
    if solution.modulus:
        return None
    total: Linear[ir.Value] = number(solution.offset.constant)
    for leaf, factor in ((solution.variable, solution.factor), *solution.offset.terms):
        if not meetings.changes(leaf):
            total = total.plus(Linear(frozenset({(leaf, 1)}), 0), factor)
            continue
        bounds = bounds_of_index(leaf)
        if bounds is None or any(meetings.changes(bound) for bound in bounds):
            return None
        last = meetings.form(bounds.upper).plus(number(-1))
        total = total.plus(last if (factor > 0) == highest else meetings.form(bounds.lower), factor)
    return total


def _common_end(
    meetings: Meetings, solutions: Sequence[Solution], *, highest: bool
) -> Linear[ir.Value] | None:
    """The end of all; None if it is not known."""
    ends = [_end(meetings, solution, highest=highest) for solution in solutions]
    known_ends = [end for end in ends if end is not None]
    if len(known_ends) < len(ends) or len({end.terms for end in known_ends}) > 1:
        return None
    pick = max if highest else min
    return Linear(known_ends[0].terms, pick(end.constant for end in known_ends))


def _build_end(meetings: Meetings, total: Linear[ir.Value]) -> ir.Value:
    values: dict[ir.Value, ir.Value] = {}
    for leaf in total.names:
        values[leaf] = invariant(leaf, meetings.loop, values)
    return build_sum(total, values)
