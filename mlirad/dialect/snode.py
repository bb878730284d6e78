"""The layout of fields: a tree of blocks whose leaves are named fields.

    "snode.root"() ({
      "snode.dense"() ({
        "snode.place"() {sym_name = "x", element = f32, component_shape = [2], adjoint = @x.grad} : () -> ()
      }) {axes = [0, 1], extents = [4, 8]} : () -> ()
    }) {sym_name = "S0"} : () -> ()

The children of one block lie next to each other in each of its cells. A field's index runs over the axes of the
blocks above it, outermost block most significant; its components are contiguous in the cell.
"""
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from mlirad.bindings import ext, ir


class Snode(ext.Dialect, name="snode"):
    """Layout trees."""


class RootOp(Snode.Operation, name="root", traits=[ir.NoTerminatorTrait]):
    """One allocation. `"snode.root"() ({ ... }) {sym_name = "S0"} : () -> ()`"""

    sym_name: ir.StringAttr
    body: ext.Region

    def verify_invariants(self) -> bool:
        return _only_holds(self, ("snode.dense", "snode.place"))


class DenseOp(Snode.Operation, name="dense", traits=[ir.NoTerminatorTrait]):
    """A block of cells over some axes. `"snode.dense"() ({ ... }) {axes = [0], extents = [16]} : () -> ()`"""

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    body: ext.Region

    def verify_invariants(self) -> bool:
        axes, extents = integers(self.attributes["axes"]), integers(self.attributes["extents"])
        location = self.operation.location
        if len(axes) != len(extents) or not axes:
            location.emit_error(f"a dense block has {len(axes)} axes and {len(extents)} extents, expected as many")
            return False
        if len(set(axes)) != len(axes) or min(axes) < 0:
            location.emit_error(f"axes {axes} of a dense block are not distinct and non-negative")
            return False
        if min(extents) <= 0:
            location.emit_error(f"extents {extents} of a dense block are not positive")
            return False
        return _only_holds(self, ("snode.dense", "snode.place"))


class PlaceOp(Snode.Operation, name="place"):
    """A field; `adjoint` and `dual`, where present, name the fields of its derivatives.

    `"snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()`
    """

    sym_name: ir.StringAttr
    element: ir.TypeAttr
    component_shape: ir.ArrayAttr

    def verify_invariants(self) -> bool:
        if self.operation.parent is None or not self.operation.parent.name.startswith("snode."):
            self.operation.location.emit_error("a field is placed outside a layout tree")
            return False
        return True


def _only_holds(op: ir.OpView, allowed: tuple[str, ...]) -> bool:
    for child in op.regions[0].blocks[0].operations:
        if child.operation.name not in allowed:
            child.operation.location.emit_error(f"'{child.operation.name}' cannot stand in a layout tree")
            return False
    return True


def integers(attribute: ir.Attribute) -> tuple[int, ...]:
    """The integers of an array attribute."""
    return tuple(ir.IntegerAttr(item).value for item in ir.ArrayAttr(attribute))


@dataclass(frozen=True)
class Level:
    """One block above a field, as seen by one axis: how many cells, and how far apart in bytes."""

    axis: int
    extent: int
    stride: int


@dataclass(frozen=True)
class FieldLayout:
    """Where a field lies. Levels are from the outermost block inwards; bytes count from the start of `root`."""

    name: str
    root: str
    element: str
    size: int
    component_shape: tuple[int, ...]
    offset: int
    levels: tuple[Level, ...]
    component_strides: tuple[int, ...]
    adjoint: str | None
    dual: str | None

    @property
    def index_shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        rank = 1 + max((level.axis for level in self.levels), default=-1)
        return tuple(prod(level.extent for level in self.levels if level.axis == axis) for axis in range(rank))

    @property
    def shape(self) -> tuple[int, ...]:
        """Index axes, then component axes."""
        return self.index_shape + self.component_shape

    def of_axis(self, axis: int) -> tuple[Level, ...]:
        """The levels of one index axis, outermost first."""
        return tuple(level for level in self.levels if level.axis == axis)


_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "i16": 2, "i8": 1, "i1": 1}


@lru_cache(maxsize=4096)
def _element_size(element: str) -> int:
    return _SIZES[element]


def _alignment(op: ir.Operation) -> int:
    if op.name == "snode.place":
        return _element_size(str(ir.TypeAttr(op.attributes["element"]).value))
    return max((_alignment(child.operation) for child in op.regions[0].blocks[0].operations), default=1)


def _round_up(value: int, to: int) -> int:
    return -(-value // to) * to


def _symbol(op: ir.Operation, name: str) -> str | None:
    return ir.FlatSymbolRefAttr(op.attributes[name]).value if name in op.attributes else None


def _lay_out(op: ir.Operation, root: str, base: int, levels: tuple[Level, ...], found: list[FieldLayout]) -> int:
    """Record the fields under `op`, whose first cell starts at byte `base`; the size of `op` in bytes."""
    if op.name == "snode.place":
        element = str(ir.TypeAttr(op.attributes["element"]).value)
        size = _element_size(element)
        components = integers(op.attributes["component_shape"])
        strides = tuple(size * prod(components[i + 1:]) for i in range(len(components)))
        found.append(FieldLayout(ir.StringAttr(op.attributes["sym_name"]).value, root, element, size, components, base,
                                 levels, strides, _symbol(op, "adjoint"), _symbol(op, "dual")))
        return size * prod(components)
    cells = 1
    inner = levels
    if op.name == "snode.dense":
        axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
        cells = prod(extents)
        cell = cell_size(op)
        inner = levels + tuple(Level(axis, extents[i], cell * prod(extents[i + 1:])) for i, axis in enumerate(axes))
    offset = base
    for child in op.regions[0].blocks[0].operations:
        offset = _round_up(offset, _alignment(child.operation))
        offset += _lay_out(child.operation, root, offset, inner, found)
    return cells * cell_size(op)


def cell_size(op: ir.Operation) -> int:
    """Bytes of one cell of a block: its children in order, each aligned."""
    size = 0
    for child in op.regions[0].blocks[0].operations:
        size = _round_up(size, _alignment(child.operation)) + _size(child.operation)
    return max(1, _round_up(size, _alignment(op)))


def _size(op: ir.Operation) -> int:
    if op.name == "snode.place":
        size = _element_size(str(ir.TypeAttr(op.attributes["element"]).value))
        return size * prod(integers(op.attributes["component_shape"]))
    cells = prod(integers(op.attributes["extents"])) if op.name == "snode.dense" else 1
    return cells * cell_size(op)


def layouts(module: ir.Operation) -> dict[str, FieldLayout]:
    """The layout of every field that a module declares, by name."""
    found: list[FieldLayout] = []
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "snode.root":
            _lay_out(op.operation, ir.StringAttr(op.attributes["sym_name"]).value, 0, (), found)
    return {layout.name: layout for layout in found}


def root_sizes(module: ir.Operation) -> dict[str, int]:
    """Bytes of every tree of a module, by name."""
    return {ir.StringAttr(op.attributes["sym_name"]).value: _size(op.operation)
            for op in module.regions[0].blocks[0].operations if op.operation.name == "snode.root"}


def places(module: ir.Operation) -> Iterator[ir.Operation]:
    """Every `snode.place` of a module."""
    stack = [op.operation for op in module.regions[0].blocks[0].operations if op.operation.name == "snode.root"]
    while stack:
        op = stack.pop()
        if op.name == "snode.place":
            yield op
        else:
            stack += [child.operation for child in op.regions[0].blocks[0].operations]
