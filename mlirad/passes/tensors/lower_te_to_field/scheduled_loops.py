"""The loops over a box of indices, by what is said of its axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import msgspec

from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.marks.axis_choices import AxisChoice, set_choice, set_choices
from mlirad.ir.structured import ANY_ORDER
from mlirad.ir.walk import constant_integer

Run = Callable[[list[ir.Value]], None]
Point = dict[int, ir.Value]  # where each axis stands


class Box(msgspec.Struct, frozen=True):
    """Axes from 0 to their extents. `is_cut`: loops go through tiles, and through what is in them;
    otherwise that is said of loops to passes that know better."""

    extents: list[ir.Value]
    choices: list[AxisChoice]
    is_cut: bool

    def run(self, run: Run) -> None:
        """Make the loops."""
        axes = range(len(self.extents))
        in_loops = [axis for axis in axes if not self.choices[axis].is_written_out]
        outer = [axis for axis in in_loops if not self.choices[axis].is_serial]
        if not outer:
            self._serial(in_loops, {}, run)
            return
        zeros = [b.index(0) for _ in outer]
        loop = b.parallel_loop(
            zeros, [self.extents[axis] for axis in outer], [self._step(axis) for axis in outer]
        )
        set_choices(loop.op, [self._choice_of(axis) for axis in outer])
        point: Point = dict(zip(outer, loop.body.arguments))
        with ir.InsertionPoint(loop.body):
            self._serial([axis for axis in in_loops if axis not in outer], point, run)
            b.end_parallel()

    def _is_tiled(self, axis: int) -> bool:
        return self.is_cut and self.choices[axis].tile > 1

    def _step(self, axis: int) -> ir.Value:
        return b.index(self.choices[axis].tile if self._is_tiled(axis) else 1)

    def _choice_of(self, axis: int) -> AxisChoice:
        choice = self.choices[axis]
        return AxisChoice(choice.name) if self._is_tiled(axis) else choice

    def _serial(self, axes: Sequence[int], point: Point, run: Run) -> None:
        """Loops over axes, or tiles of them, one in the other."""
        if not axes:
            self._within([axis for axis in point if self._is_tiled(axis)], point, run)
            return
        first, *inner_axes = axes
        loop = b.for_loop(b.index(0), self.extents[first], self._step(first))
        set_choice(loop.op, self._choice_of(first))
        self._body(loop.op, lambda at: self._serial(inner_axes, {**point, first: at}, run))

    def _within(self, tiled: Sequence[int], point: Point, run: Run) -> None:
        """Loops over what is in a tile."""
        if not tiled:
            self._run_written_out(point, run)
            return
        first, *inner_axes = tiled
        start = point[first]
        end = b.minsi(b.add(start, self._step(first)), self.extents[first])
        loop = b.for_loop(start, end, b.index(1))
        choice = self.choices[first]
        set_choice(loop.op, AxisChoice(choice.name, in_lanes=choice.in_lanes))
        self._body(loop.op, lambda at: self._within(inner_axes, {**point, first: at}, run))

    def _body(self, loop: ir.Operation, run: Callable[[ir.Value], None]) -> None:
        loop.attributes[ANY_ORDER] = ir.UnitAttr.get()
        body = loop.regions[0].blocks[0]
        with ir.InsertionPoint(body):
            run(body.arguments[0])
            b.yield_()

    def _run_written_out(self, point: Point, run: Run) -> None:
        axes = [axis for axis, choice in enumerate(self.choices) if choice.is_written_out]
        for values in product(*(range(known_extent(self.extents[axis])) for axis in axes)):
            indices = {**point, **{axis: b.index(value) for axis, value in zip(axes, values)}}
            run([indices[axis] for axis in range(len(self.extents))])


def known_extent(extent: ir.Value) -> int:
    """An extent that is written out."""
    number = constant_integer(extent)
    assert number is not None, "what is written out is of a size that is known"
    return number
