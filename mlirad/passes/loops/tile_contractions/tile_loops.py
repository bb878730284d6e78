"""Loops over the parts of an index that tiles cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mlirad.analysis.contractions.contraction import Index
from mlirad.analysis.contractions.places import Point
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.box import Bounds
from mlirad.ir.walk import at_end, constant_integer

Body = Callable[[ir.Value], None]


class Part(NamedTuple):
    """A stretch of an index that is cut in steps of a size."""

    lower: ir.Value
    upper: ir.Value
    size: int
    is_whole: bool  # all steps are complete

    @property
    def is_single(self) -> bool:
        """Return whether the loop certainly has a single step."""
        low, high = constant_integer(self.lower), constant_integer(self.upper)
        return low is not None and high is not None and 0 < high - low <= self.size


def split_index(lower: ir.Value, upper: ir.Value, size: int, last_size: int) -> list[Part]:
    """A stretch in whole steps of a size, and what is left: in one step where that is known, else
    in steps of another size."""
    low, high = constant_integer(lower), constant_integer(upper)
    if low is not None and high is not None:
        middle = low + max(0, high - low) // size * size
        full_steps = [Part(lower, b.index(middle), size, True)] * (middle > low)
        left = [Part(b.index(middle), upper, high - middle, True)] * (high > middle)
        return [*full_steps, *left]
    count = Bounds(lower, upper, b.index(1)).trips()
    steps = b.mul(b.div(count, b.index(size)), b.index(size))
    end = b.add(lower, steps)
    if size == 1:
        return [Part(lower, upper, 1, True)]
    return [Part(lower, end, size, True), Part(end, upper, last_size, last_size == 1)]


def for_each_step(stretch: Part, run: Body) -> None:
    """Run something for the beginning of every step of a part."""
    if stretch.is_single:
        run(stretch.lower)
        return
    loop = b.for_loop(stretch.lower, stretch.upper, b.index(stretch.size))
    with at_end(loop.body, loop.op.location):
        run(loop.induction)
        b.yield_()


def nest(indices: Sequence[Index], point: Point, run: Callable[[Point], None]) -> None:
    """Run something for every point of some indices."""
    if not indices:
        run(point)
        return
    first, *inner_indices = indices
    stretch = Part(first.lower, first.upper, 1, True)
    for_each_step(stretch, lambda value: nest(inner_indices, {**point, first.value: value}, run))


def carry_values(
    stretch: Part,
    values: Sequence[ir.Value],
    run: Callable[[ir.Value, Sequence[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """Run something that makes new values of some for every step of a part."""
    if stretch.is_single:
        return run(stretch.lower, values)
    loop = b.for_loop(stretch.lower, stretch.upper, b.index(stretch.size), values)
    with at_end(loop.body, loop.op.location):
        b.yield_(run(loop.induction, loop.carried))
    return list(loop.results)
