"""Where fields lie in the memory of their trees.

A field's elements are reached through the blocks above it. How each of them lays out its cells, and
how a cell is found by an index, depends on its kind: `_BLOCKS` has a function for each, and who
computes addresses asks `Level.kind`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from math import prod

from mlirad.bindings import ir
from mlirad.dialect.snode import ELEMENT_SIZES, children_of, integers, roots


class Kind(Enum):
    """The kinds of blocks that have an index."""

    DENSE = "dense"  # cells side by side, all of them there


@dataclass(frozen=True)
class Level:
    """One block above a field, as seen by one axis: how many cells, and how far apart in bytes."""

    kind: Kind
    axis: int
    extent: int
    stride: int


@dataclass(frozen=True)
class FieldLayout:
    """Where a field lies. Levels are from the outermost block inwards; bytes count from the start
    of `root`."""

    name: str
    root: str
    element: str
    size: int
    component_shape: tuple[int, ...]
    offset: int
    levels: tuple[Level, ...]

    @property
    def index_shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        return tuple(
            prod(level.extent for level in self.of_axis(axis)) for axis in range(self.rank)
        )

    @property
    def rank(self) -> int:
        """How many index axes there are."""
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


@dataclass(frozen=True)
class _Block:
    """What a block is to the memory below it: its own size, and its levels."""

    size: int
    levels: tuple[Level, ...]


def _root(op: ir.Operation, cell: int) -> _Block:
    return _Block(cell, ())


def _dense(op: ir.Operation, cell: int) -> _Block:
    axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
    levels = tuple(
        Level(Kind.DENSE, axis, extents[i], cell * prod(extents[i + 1 :]))
        for i, axis in enumerate(axes)
    )
    return _Block(cell * prod(extents), levels)


_BLOCKS: dict[str, Callable[[ir.Operation, int], _Block]] = {
    "snode.root": _root,
    "snode.dense": _dense,
}


def _lay_out(
    op: ir.Operation, root: str, base: int, levels: tuple[Level, ...], found: list[FieldLayout]
) -> int:
    """Record the fields under `op`, whose first cell starts at byte `base`; the size of `op` in
    bytes."""
    if op.name == "snode.place":
        found.append(_placed(op, root, base, levels))
        return _size(op)
    block = _BLOCKS[op.name](op, cell_size(op))
    offset = base
    for child in children_of(op):
        offset = _round_up(offset, _alignment(child))
        offset += _lay_out(child, root, offset, levels + block.levels, found)
    return block.size


def _placed(op: ir.Operation, root: str, base: int, levels: tuple[Level, ...]) -> FieldLayout:
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
    )


def _size(op: ir.Operation) -> int:
    if op.name == "snode.place":
        size = ELEMENT_SIZES[str(ir.TypeAttr(op.attributes["element"]).value)]
        return size * prod(integers(op.attributes["component_shape"]))
    return _BLOCKS[op.name](op, cell_size(op)).size


def cell_size(op: ir.Operation) -> int:
    """Bytes of one cell of a block: its children in order, each aligned."""
    size = 0
    for child in children_of(op):
        size = _round_up(size, _alignment(child)) + _size(child)
    return max(1, _round_up(size, _alignment(op)))


def _alignment(op: ir.Operation) -> int:
    if op.name == "snode.place":
        return ELEMENT_SIZES[str(ir.TypeAttr(op.attributes["element"]).value)]
    return max((_alignment(child) for child in children_of(op)), default=1)


def _round_up(value: int, to: int) -> int:
    return -(-value // to) * to


def layouts(module: ir.Operation) -> dict[str, FieldLayout]:
    """The layout of every field that a module declares, by name."""
    found: list[FieldLayout] = []
    for op in roots(module):
        _lay_out(op, ir.StringAttr(op.attributes["sym_name"]).value, 0, (), found)
    return {layout.name: layout for layout in found}


def root_sizes(module: ir.Operation) -> dict[str, int]:
    """Bytes of every tree of a module, by name."""
    return {ir.StringAttr(op.attributes["sym_name"]).value: _size(op) for op in roots(module)}
