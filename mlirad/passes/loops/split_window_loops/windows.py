"""Short loops between sums that move along with indices around them, written out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from mlirad.analysis.bound_ends import SHORT, end_form, ends_of
from mlirad.analysis.linear import Linear, extent_of, number
from mlirad.analysis.trips import spans
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.structured import For, is_for
from mlirad.ir.walk import ancestors, before, constant_integer, operations

_OPERATIONS = 1000  # of what a loop that is written out becomes
Sum = Linear[ir.Value]


def write_out_windows(root: ir.Operation) -> None:
    """Write out loops over windows that carry something, inner ones first."""
    for loop in reversed([op for op in operations(root) if is_for(op) and len(op.results)]):
        window = _window(loop)
        if window is not None and window[1] * len(list(operations(loop))) <= _OPERATIONS:
            _write_out(loop, *window)


def _window(loop: ir.Operation) -> tuple[Sum, int] | None:
    """The first index of a loop, and how many there are if nothing else bounds it, the fewer of
    those that move and those that do not; None where no window that moves is known to be short."""
    if constant_integer(loop.operands[2]) != 1:
        return None
    ends = ends_of(loop)
    gaps = [
        (low, gap.constant)
        for low, high in product(map(end_form, ends.lower), map(end_form, ends.upper))
        if not (gap := high.plus(low, -1)).terms
    ]
    if not any(low.terms and trips <= SHORT for low, trips in gaps):
        return None
    first, trips = min(gaps, key=lambda gap: gap[1])
    return first, max(0, trips)


def _write_out(loop: ir.Operation, first: Sum, trips: int) -> None:
    from mlirad.analysis.contractions.places import Places  # both where there are windows
    from mlirad.ir.unrolling import unroll

    ends, extents_around = ends_of(loop), dict(_known_around(loop))
    indices, conditions = [], []
    with before(loop):
        places = Places([])
        for trip in range(trips):
            index = first.plus(number(trip))
            demands = [index.plus(end_form(low), -1) for low in ends.lower]
            demands += [end_form(high).plus(index, -1).plus(number(-1)) for high in ends.upper]
            extents = [extent_of(demand, extents_around) for demand in demands]
            if any(extent is not None and extent[1] < 0 for extent in extents):
                continue
            open_ = [d for d, extent in zip(demands, extents) if extent is None or extent[0] < 0]
            zero = b.index(0)
            indices.append(places.sum(index, {}, {}))
            conditions.append([b.compare(b.SGE, places.sum(d, {}, {}), zero) for d in open_])
    unroll(loop, indices, conditions)


def _known_around(loop: ir.Operation) -> Iterator[tuple[ir.Value, tuple[int, int]]]:
    """The first and the last value of the indices of loops around one, where they are known."""
    for op in filter(is_for, ancestors(loop)):
        span = spans(op)[0]
        if span.low is not None and span.high is not None and span.low < span.high:
            yield For(op).induction, (span.low, span.high - 1)
