"""Loops whose iterations touch elements of one row that are some steps apart, as a stencil's do.

Before: an iteration an element, of rows that begin and end anywhere. After: an iteration has the
elements of 16 aligned bytes; of large boxes those of two rows, if neighboring rows read the same.
If all of these are in the box, and whatever they ask of their places is as in most places, each
step is done for all of them before the next: what they read lies side by side, and what two of them
read is read once, and stays in registers. Else they run one after another.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from mlirad.bindings import ir
from mlirad.dialect.field import GetOp, is_access, is_atomic, is_load, split_access
from mlirad.ir import build as b
from mlirad.ir.marks.alignment import mark_aligned
from mlirad.ir.marks.loop_hints import keep_rolled
from mlirad.ir.ops import Scf
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.reductions import PLAIN_MARK
from mlirad.ir.structured import Parallel, is_branch
from mlirad.ir.walk import (
    array_root,
    at_end,
    at_start,
    before,
    block_operations,
    clone,
    constant_integer,
    enclosing,
)
from mlirad.passes.gpu.merge_iterations.axis_places import Group, Places
from mlirad.passes.gpu.merge_iterations.whole_rows import WIDEST, Rows

_MOST_OPS = 128
ROWS = 2  # that a thread takes, if iterations of neighboring ones read the same
_LEAST_FOR_ROWS = 1 << 20  # iterations: with four a thread, as many threads as a large GPU holds


class _Element(NamedTuple):
    """The element of an access: its bytes, and its distance along the axis from the iteration."""

    size: int
    distance: int


_Elements = dict[ir.Operation, _Element]
_Values = dict[ir.Value, ir.Value]


def merge_neighbours(loop: Parallel, rows: Rows, trips: int) -> None:
    """Let an iteration take the elements of 16 bytes, if all that it touches lies along rows."""
    places = Places(loop)
    straight = _straight(loop.body, places)
    if straight is None or len(straight) > _MOST_OPS or not all(map(_is_plain, straight)):
        return
    elements = _elements(straight, places, rows)
    if elements:
        count = WIDEST // max(element.size for element in elements.values())
        group: Group = {loop.indices[-1]: count}
        is_long = trips >= ROWS * _LEAST_FOR_ROWS and len(straight) <= _MOST_OPS // ROWS
        if is_long and _shares_rows(elements, places) and constant_integer(loop.steps[-2]) == 1:
            group = {loop.indices[-2]: ROWS, **group}
        if count > 1 and places.are_mostly_alike(group):
            _Merged(loop, places, elements, group).make(straight)


def _straight(block: ir.Block, places: Places) -> list[ir.Operation] | None:
    """Return what runs where everything is as it is in most places, with the ends of branches; None
    if that is not known."""
    straight: list[ir.Operation] = []
    for op in block_operations(block):
        if not is_branch(op):
            straight.append(op)
            continue
        holds = places.settle(op.operands[0])
        if holds is None:
            return None
        region = op.regions[0 if holds else 1]
        inside = _straight(region.blocks[0], places) if len(region.blocks) else []
        if inside is None:
            return None
        straight += inside
    return straight


def _is_plain(op: ir.Operation) -> bool:
    if is_access(op):
        return not is_atomic(op) or PLAIN_MARK in op.attributes
    is_end = op.name in (Scf.YIELD, Scf.REDUCE)
    return is_end or GetOp.holds(op) or (not op.regions and is_arithmetic(op))


def _elements(straight: list[ir.Operation], places: Places, rows: Rows) -> _Elements:
    """Return the elements that lie along the axis; none if others are touched, except for loads of
    what is the same all along it."""
    elements: _Elements = {}
    for op in filter(is_access, straight):
        array, indices = split_access(op)
        if places.are_shared(indices) and is_load(op):
            continue
        distance, size = places.distance(indices), rows.element_size(array)
        if distance is None or size is None:
            return {}
        elements[op] = _Element(size, distance)
    return elements


def _shares_rows(elements: _Elements, places: Places) -> bool:
    """Return whether iterations of neighboring rows read the same elements."""
    rows: dict[object, set[int]] = {}
    for op in elements:
        array, indices = split_access(op)
        row = places.row(indices)
        if row is not None and is_load(op):
            rows.setdefault((array_root(array), row[0]), set()).add(row[1])
    return any(len(distances) > 1 for distances in rows.values())


class _Merged:
    """A loop of which an iteration takes a group of neighbors, `count` of a row."""

    def __init__(self, loop: Parallel, places: Places, elements: _Elements, group: Group) -> None:
        self.loop, self.places, self.elements, self.group = loop, places, elements, group
        self.count = group[loop.indices[-1]]

    def make(self, straight: list[ir.Operation]) -> None:
        """Change the loop."""
        loop, location = self.loop, self.loop.op.location
        ops = block_operations(loop.body)[:-1]
        with before(loop.op):
            for axis, index in enumerate(loop.indices):
                if index in self.group:
                    lower, upper = self.places.chunks(index, self.group[index])
                    loop.op.operands[axis] = b.index(lower)
                    loop.op.operands[loop.rank + axis] = b.index(upper)
        with at_start(loop.body, location):
            firsts = {axis: b.mul(axis, b.index(n)) for axis, n in self.group.items()}
            tests = self.places.tests(self.group, firsts)
            if not tests:
                self._together(straight, firsts)
            else:
                branch = b.if_else(b.all_of(tests), [])
                with at_end(branch.then, location):
                    self._together(straight, firsts)
                    b.yield_()
                with at_end(branch.otherwise, location):
                    self._one_by_one(ops, firsts, {})
                    b.yield_()
        for op in reversed(ops):
            op.erase()

    def _together(self, straight: list[ir.Operation], firsts: _Values) -> None:
        """Do every step for all neighbors before the next."""
        neighbours: list[_Values] = [
            {axis: b.add(firsts[axis], b.index(n)) for axis, n in zip(self.group, numbers)}
            for numbers in product(*map(range, self.group.values()))
        ]
        for op in straight:
            if op.name == Scf.YIELD:
                for values in neighbours:
                    results = [values.get(value, value) for value in op.operands]
                    values.update(zip(enclosing(op).results, results))
            elif op.results and op.results[0] in self.places.settled:
                for values in neighbours:
                    values[op.results[0]] = self._settled(op.results[0], values)
            elif op.name != Scf.REDUCE:
                for number, values in enumerate(neighbours):
                    self._mark(clone(op, values), self.elements.get(op), number % self.count)

    def _settled(self, value: ir.Value, values: _Values) -> ir.Value:
        """Return the constant that replaces a settled value."""
        settled = self.places.settled[value]
        if isinstance(settled, int):
            return b.number(settled, value.type)
        return values.get(settled, settled)

    def _mark(self, op: ir.Operation, element: _Element | None, number: int) -> None:
        """Say of the first access of an aligned vector where it is: LLVM may lose sight of it."""
        if element is not None and (element.distance + number) % self.count == 0:
            mark_aligned(op, element.size * self.count)

    def _one_by_one(self, ops: list[ir.Operation], firsts: _Values, values: _Values) -> None:
        """Run one iteration after another, of those that the loop had."""
        axis = next((axis for axis in firsts if axis not in values), None)
        if axis is None:
            for op in ops:
                clone(op, values)
            return
        low, high = self.places.bounds(axis, firsts[axis], self.group[axis])
        loop = b.for_loop(low, high, b.index(1))
        keep_rolled(loop.op)
        with at_end(loop.body, self.loop.op.location):
            self._one_by_one(ops, firsts, {**values, axis: loop.induction})
            b.yield_()
