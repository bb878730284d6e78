"""The number of threads that go through the iterations that an element gets updates from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import msgspec

from mlirad.analysis.meetings import Meetings
from mlirad.analysis.trips import span_of
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import bounds_of_index, fold
from mlirad.ir.ops import Arith
from mlirad.ir.structured import Parallel
from mlirad.passes.gpu.gather_shifted_updates.solved_updates import Update

FEWER = 4  # times fewer threads than the loop has iterations are still enough
THREADS = 1 << 18  # about as many as a large GPU holds at once
LEAST = 8  # iterations that pay for a thread, and threads that pay for its atomic


class Shares(msgspec.Struct, frozen=True):
    """The iterations of an index that the element does not tell are shared out to `count` threads,
    each of which takes every so many-th, or to as many as the host finds (None); `is_last`: threads
    next to one another take neighboring ones."""

    index: ir.Value
    count: int | None
    is_last: bool

    def threads(self, elements: ir.Value) -> ir.Value:
        """The number of threads of each of so many elements, made at the insertion point."""
        if self.count is not None:
            return b.index(self.count)
        bounds = bounds_of_index(self.index)
        assert bounds is not None
        free = fold(Arith.DIVUI, b.index(THREADS), fold(Arith.MAXSI, elements, b.index(1)))
        most = fold(Arith.CEILDIVSI, bounds.trips(), b.index(LEAST))
        return fold(Arith.MAXSI, fold(Arith.MINSI, free, most), b.index(1))


def shares(meetings: Meetings, group: Sequence[Update]) -> list[Shares] | None:
    """The indices of a loop that are shared out, one or none; None if there are too few elements to
    be the threads, and where the loop has all indices of an element: sums of rows and columns
    (`split-axis-reductions`)."""
    variables, indices = group[0].cell.variables, Parallel(meetings.loop).indices
    missing = [iv for iv in indices if iv not in variables]
    if not missing:
        return []
    extents = zip(variables, group[0].extents())
    counts = {variable: _trips(variable) or extent for variable, extent in extents}
    iterations = _product(_trips(iv) for iv in missing)
    inner_count = _product(counts[variable] for variable in variables if variable not in indices)
    elements = _product(counts.values())
    if iterations is None or inner_count is None:
        inner = [variable for variable in variables if variable not in indices]
        alike = len(missing) == len(inner) == 1
        if alike and _ends(meetings, missing[0]) == _ends(meetings, inner[0]):
            return []
        if not inner:
            return None
        index = max(missing, key=lambda iv: _trips(iv) or THREADS)
        return [Shares(index, None, index == indices[-1])]
    if FEWER * inner_count >= iterations:
        return []
    if elements is None or all(variable in indices for variable in variables):
        return None
    return _shared_out(missing, iterations, elements, indices[-1])


def _shared_out(
    missing: list[ir.BlockArgument], iterations: int, elements: int, last: ir.Value
) -> list[Shares] | None:
    """The longest index, to as many threads as there are left."""
    index = max(missing, key=lambda iv: _trips(iv) or 0)
    free = max(THREADS // elements, LEAST if index == last else 1)
    count = min(free, _trips(index) or 1, iterations // LEAST)
    if count < LEAST:
        return [] if elements >= THREADS // LEAST else None
    return [Shares(index, count, index == last)]


def _ends(meetings: Meetings, variable: ir.Value) -> object:
    bounds = bounds_of_index(variable)
    assert bounds is not None
    return meetings.form(bounds.lower), meetings.form(bounds.upper)


def _trips(variable: ir.Value) -> int | None:
    span = span_of(variable)
    return None if span is None else span.trips


def _product(counts: Iterable[int | None]) -> int | None:
    numbers = list(counts)
    return None if None in numbers else prod(count for count in numbers if count is not None)
