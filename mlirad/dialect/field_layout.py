"""Places of fields in the memory of their trees.

A field's elements are reached through the blocks above it. Blocks of every kind lay out all their
cells side by side, whether they are active or not: what is not active takes addresses, and no
memory until it is touched. So an address is an affine function of the digits of an index (as in
SPGrid: Setaluri, Aanjaneya, Bauer and Sifakis, SIGGRAPH Asia 2014). Which cells are active
is in other fields, the `activities` of a layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from math import prod
from typing import NamedTuple, Protocol

import msgspec

from mlirad.bindings import ir
from mlirad.dialect.layout_rules import (
    ELEMENT_SIZES,
    children_of,
    extents_along,
    integers,
    is_sparse,
)
from mlirad.dialect.snode import activity_of, roots, trees_around


class Kind(Enum):
    """The kinds of blocks that have an index."""

    DENSE = "dense"  # all cells are active
    POINTER = "pointer"  # what lies below an inactive cell is 0
    BITMASKED = "bitmasked"  # what lies below a cell stays when it is deactivated
    DYNAMIC = "dynamic"  # the first cells are active, up to a length

    @property
    def is_sparse(self) -> bool:
        """Return whether cells may be inactive."""
        return self is not Kind.DENSE


class Level(msgspec.Struct, frozen=True):
    """One block above a field, as seen by one axis: how many cells, and how far apart in bytes."""

    kind: Kind
    axis: int
    extent: int
    stride: int


class Digits(msgspec.Struct, frozen=True):
    """Some digits of an index of a field: `index[axis] // width % extent`."""

    axis: int
    width: int
    extent: int


class Activity(msgspec.Struct, frozen=True):
    """A sparse block above a field. `field` has an element for each cell of a pointer or bitmasked
    block, an i8 that is 1 or 0, or for each list of a dynamic block, its length as an i32; its
    indices are `cells` of the index of the field. `item` is the number in the list."""

    kind: Kind
    field: str
    cells: tuple[Digits, ...]
    item: Digits | None

    @property
    def block_cell(self) -> tuple[Digits, ...]:
        """The index of the block's cell: for a list, with the item."""
        if self.item is None:
            return self.cells
        by_axis = {digits.axis: digits for digits in self.cells}
        outer = by_axis.get(self.item.axis)
        extent = self.item.extent * (1 if outer is None else outer.extent)
        by_axis[self.item.axis] = Digits(self.item.axis, self.item.width, extent)
        return tuple(by_axis[axis] for axis in sorted(by_axis))


class TreeBlock(Protocol):
    """A block of a layout tree that has an index."""

    @property
    def kind(self) -> Kind:
        """The kind of a block."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of its cells."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Return how many cells there are along each."""

    @property
    def activity(self) -> str | None:
        """The field of its activity."""


def activities_of(path: Sequence[TreeBlock]) -> tuple[Activity, ...]:
    """The activities of the sparse ones among nested blocks, outermost first, as the index of a
    cell of the innermost one has them."""
    used = sorted({axis for block in path for axis in block.axes})
    activities = []
    for position, block in enumerate(path):
        if block.activity is None:
            continue
        is_list = block.kind is Kind.DYNAMIC
        above, below = path[: position + (not is_list)], path[position + (not is_list) :]
        cells = [
            Digits(used.index(axis), _extents(below).get(axis, 1), extent)
            for axis, extent in sorted(_extents(above).items())
        ]
        item = None
        if is_list:
            (axis,), (extent,) = block.axes, block.extents
            item = Digits(used.index(axis), _extents(path[position + 1 :]).get(axis, 1), extent)
        activities.append(Activity(block.kind, block.activity, tuple(cells), item))
    return tuple(activities)


def _extents(blocks: Sequence[TreeBlock]) -> dict[int, int]:
    return extents_along((block.axes, block.extents) for block in blocks)


class DeclaredBlock(msgspec.Struct, frozen=True):
    """A block, read from its op."""

    kind: Kind
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    activity: str | None


def read_block(op: ir.Operation) -> DeclaredBlock:
    """A block's op, read."""
    axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
    activity = activity_of(op) if is_sparse(op) else None
    return DeclaredBlock(kind_of(op), axes, extents, activity)


def path_to(op: ir.Operation) -> list[DeclaredBlock]:
    """The blocks that a place or a block lies in, outermost first."""
    around = [block for block in trees_around(op) if block.name != "snode.root"]
    return [read_block(block) for block in reversed(around)]


class FieldLayout(msgspec.Struct, frozen=True, dict=True):
    """The place of a field. Levels are from the outermost block inwards; bytes count from the start
    of `root`."""

    name: str
    root: str
    element: str
    size: int
    component_shape: tuple[int, ...]
    offset: int
    levels: tuple[Level, ...]
    activities: tuple[Activity, ...] = ()  # of the sparse blocks above, outermost first

    @cached_property
    def index_shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return tuple(
            prod(level.extent for level in self.of_axis(axis)) for axis in range(self.rank)
        )

    @property
    def rank(self) -> int:
        """Return how many index axes there are."""
        return 1 + max((level.axis for level in self.levels), default=-1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Index axes, then component axes."""
        return self.index_shape + self.component_shape

    def of_axis(self, axis: int) -> tuple[Level, ...]:
        """The levels of one index axis, outermost first."""
        return tuple(level for level in self.levels if level.axis == axis)

    @property
    def by_axis(self) -> tuple[Level, ...]:
        """The levels of the first axis, of the second, and so on."""
        return tuple(level for axis in range(self.rank) for level in self.of_axis(axis))

    @property
    def element_shape(self) -> tuple[int, ...]:
        """The field with an axis for each level in `by_axis`, then component axes."""
        return (*(level.extent for level in self.by_axis), *self.component_shape)

    @property
    def element_strides(self) -> tuple[int, ...]:
        """The distances along the axes of `element_shape` in bytes."""
        components = self.component_shape
        inner = [self.size * prod(components[i + 1 :]) for i in range(len(components))]
        return (*(level.stride for level in self.by_axis), *inner)


def kind_of(op: ir.Operation) -> Kind:
    """The kind of a block that has an index."""
    return Kind(op.name.removeprefix("snode."))


class _Measure(NamedTuple):
    """Bytes of one cell of a block, or of a place, and of all of them; what its address is a
    multiple of."""

    cell: int
    size: int
    alignment: int


Measures = dict[ir.Operation, _Measure]


def _measure(op: ir.Operation, measures: Measures) -> _Measure:
    """Measure an op and what is below it: the children of a cell in order, each aligned."""
    if op.name == "snode.place":
        alignment = ELEMENT_SIZES[str(ir.TypeAttr(op.attributes["element"]).value)]
        cell = alignment * prod(integers(op.attributes["component_shape"]))
        return measures.setdefault(op, _Measure(cell, cell, alignment))
    cell, alignment = 0, 1
    for child in children_of(op):
        measure = _measure(child, measures)
        cell = _round_up(cell, measure.alignment) + measure.size
        alignment = max(alignment, measure.alignment)
    cell = max(1, _round_up(cell, alignment))
    count = 1 if op.name == "snode.root" else prod(integers(op.attributes["extents"]))
    return measures.setdefault(op, _Measure(cell, cell * count, alignment))


def _levels(op: ir.Operation, cell: int) -> tuple[Level, ...]:
    """Return a block as levels for the fields below it."""
    if op.name == "snode.root":
        return ()
    axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
    kind = kind_of(op)
    return tuple(
        Level(kind, axis, extents[i], cell * prod(extents[i + 1 :])) for i, axis in enumerate(axes)
    )


def _lay_out(
    op: ir.Operation, root: str, base: int, levels: tuple[Level, ...], measures: Measures
) -> Iterator[FieldLayout]:
    """The fields under `op`, whose first cell starts at byte `base`."""
    if op.name == "snode.place":
        yield _lay_out_field(op, root, base, levels)
        return
    levels += _levels(op, measures[op].cell)
    for child in children_of(op):
        base = _round_up(base, measures[child].alignment)
        yield from _lay_out(child, root, base, levels, measures)
        base += measures[child].size


def _lay_out_field(
    op: ir.Operation, root: str, base: int, levels: tuple[Level, ...]
) -> FieldLayout:
    element = str(ir.TypeAttr(op.attributes["element"]).value)
    used = sorted({level.axis for level in levels})  # a field over k alone has one index
    numbered = tuple(
        Level(level.kind, used.index(level.axis), level.extent, level.stride) for level in levels
    )
    return FieldLayout(
        ir.StringAttr(op.attributes["sym_name"]).value,
        root,
        element,
        ELEMENT_SIZES[element],
        integers(op.attributes["component_shape"]),
        base,
        numbered,
        activities_of(path_to(op)),
    )


def _round_up(value: int, to: int) -> int:
    return -(-value // to) * to


def layouts(module: ir.Operation) -> dict[str, FieldLayout]:
    """The layout of every field that a module declares, by name."""
    measures: Measures = {}
    fields: list[FieldLayout] = []
    for op in roots(module):
        _measure(op, measures)
        fields += _lay_out(op, ir.StringAttr(op.attributes["sym_name"]).value, 0, (), measures)
    return {layout.name: layout for layout in fields}


def root_sizes(module: ir.Operation) -> dict[str, int]:
    """Bytes of every tree of a module, by name."""
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: _measure(op, {}).size
        for op in roots(module)
    }


def sparse_roots(by_name: Mapping[str, FieldLayout]) -> set[str]:
    """The trees that have sparse blocks, or say which of their cells are active."""
    sparse = [layout for layout in by_name.values() if layout.activities]
    activities = {activity.field for layout in sparse for activity in layout.activities}
    return {layout.root for layout in sparse} | {
        by_name[name].root for name in activities if name in by_name
    }
