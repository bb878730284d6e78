"""The layout of fields: a tree of blocks whose leaves are named fields.

    "snode.root"() ({
      "snode.dense"() ({
        "snode.place"() {sym_name = "x", element = f32, component_shape = [2], adjoint = @x.grad} :
        () -> ()
      }) {axes = [0, 1], extents = [4, 8]} : () -> ()
    }) {sym_name = "S0"} : () -> ()

The children of one block lie next to each other in each of its cells. A field's index runs over the
axes of the blocks above it, outermost block most significant; its components are contiguous in the
cell.
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

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


class DenseOp(Snode.Operation, name="dense", traits=[ir.NoTerminatorTrait]):
    """A block of cells over some axes. `"snode.dense"() ({ ... }) {axes = [0], extents = [16]} : ()
    -> ()`"""

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    body: ext.Region

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


class PlaceOp(Snode.Operation, name="place"):
    """A field; `adjoint` and `duals`, where present, name the fields of its derivatives (a dual for
    each tangent).

    `"snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()`
    """

    sym_name: ir.StringAttr
    element: ir.TypeAttr
    component_shape: ir.ArrayAttr

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


def _accept(op: ir.Operation) -> bool:
    problem = problem_of(op)
    if problem is not None:
        op.location.emit_error(problem)
    return problem is None


def problem_of(op: ir.Operation) -> str | None:
    """What is wrong with an op of a layout tree, the ops inside it aside; None for nothing."""
    if op.name != "snode.root" and (
        op.parent is None or op.parent.name not in ("snode.root", "snode.dense")
    ):
        return f"'{op.name}' stands outside a layout tree"
    if op.name == "snode.place":
        return _problem_of_place(op)
    if op.name == "snode.dense" and (problem := _problem_of_dense(op)) is not None:
        return problem
    if len(op.regions[0].blocks) != 1:
        return f"'{op.name}' holds {len(op.regions[0].blocks)} blocks, expected one"
    foreign = [
        child.operation.name
        for child in op.regions[0].blocks[0].operations
        if child.operation.name not in ("snode.dense", "snode.place")
    ]
    return f"'{foreign[0]}' cannot stand in a layout tree" if foreign else None


def _problem_of_dense(op: ir.Operation) -> str | None:
    if not (_are_integers(op.attributes["axes"]) and _are_integers(op.attributes["extents"])):
        return "axes and extents of a dense block are not all integers"
    axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
    if len(axes) != len(extents) or not axes:
        return f"a dense block has {len(axes)} axes and {len(extents)} extents, expected as many"
    if len(set(axes)) != len(axes) or min(axes) < 0:
        return f"axes {list(axes)} of a dense block are not distinct and non-negative"
    if min(extents) <= 0:
        return f"extents {list(extents)} of a dense block are not positive"
    return None


def _problem_of_place(op: ir.Operation) -> str | None:
    element = str(ir.TypeAttr(op.attributes["element"]).value)
    if element not in _SIZES:
        return f"a field of {element}, expected one of {', '.join(_SIZES)}"
    shape = op.attributes["component_shape"]
    if not _are_integers(shape) or min(integers(shape), default=1) <= 0:
        return f"component shape {shape} is not of positive integers"
    if "adjoint" in op.attributes and not isinstance(
        op.attributes["adjoint"], ir.FlatSymbolRefAttr
    ):
        return f"the adjoint {op.attributes['adjoint']} is not the name of a field"
    duals = op.attributes.get("duals")
    if duals is None:
        return None
    if not isinstance(duals, ir.ArrayAttr) or not all(
        isinstance(name, ir.FlatSymbolRefAttr) for name in duals
    ):
        return f"the duals {duals} are not names of fields"
    return None


def _are_integers(attribute: ir.Attribute) -> bool:
    return all(isinstance(item, ir.IntegerAttr) for item in ir.ArrayAttr(attribute))


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
    """Where a field lies. Levels are from the outermost block inwards; bytes count from the start
    of `root`."""

    name: str
    root: str
    element: str
    size: int
    component_shape: tuple[int, ...]
    offset: int
    levels: tuple[Level, ...]
    component_strides: tuple[int, ...]
    adjoint: str | None
    duals: tuple[str, ...]

    @property
    def index_shape(self) -> tuple[int, ...]:
        """Cells along each index axis."""
        rank = 1 + max((level.axis for level in self.levels), default=-1)
        return tuple(
            prod(level.extent for level in self.levels if level.axis == axis)
            for axis in range(rank)
        )

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
    return max(
        (_alignment(child.operation) for child in op.regions[0].blocks[0].operations), default=1
    )


def _round_up(value: int, to: int) -> int:
    return -(-value // to) * to


def _symbol(op: ir.Operation, name: str) -> str | None:
    return ir.FlatSymbolRefAttr(op.attributes[name]).value if name in op.attributes else None


def duals_of(place: ir.Operation) -> tuple[str, ...]:
    """The fields that hold the tangents of a field, one for each."""
    if "duals" not in place.attributes:
        return ()
    return tuple(
        ir.FlatSymbolRefAttr(name).value for name in ir.ArrayAttr(place.attributes["duals"])
    )


def _lay_out(
    op: ir.Operation, root: str, base: int, levels: tuple[Level, ...], found: list[FieldLayout]
) -> int:
    """Record the fields under `op`, whose first cell starts at byte `base`; the size of `op` in
    bytes."""
    if op.name == "snode.place":
        element = str(ir.TypeAttr(op.attributes["element"]).value)
        size = _element_size(element)
        components = integers(op.attributes["component_shape"])
        strides = tuple(size * prod(components[i + 1 :]) for i in range(len(components)))
        used = sorted({level.axis for level in levels})  # a field over k alone has one index
        numbered = tuple(
            Level(used.index(level.axis), level.extent, level.stride) for level in levels
        )
        found.append(
            FieldLayout(
                ir.StringAttr(op.attributes["sym_name"]).value,
                root,
                element,
                size,
                components,
                base,
                numbered,
                strides,
                _symbol(op, "adjoint"),
                duals_of(op),
            )
        )
        return size * prod(components)
    cells = 1
    inner = levels
    if op.name == "snode.dense":
        axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
        cells = prod(extents)
        cell = cell_size(op)
        inner = levels + tuple(
            Level(axis, extents[i], cell * prod(extents[i + 1 :])) for i, axis in enumerate(axes)
        )
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
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: _size(op.operation)
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "snode.root"
    }


def tree_operations(module: ir.Operation) -> Iterator[ir.Operation]:
    """Every op of the layout trees of a module, as far as they are well formed."""
    stack = [
        op.operation
        for op in module.regions[0].blocks[0].operations
        if op.operation.name == "snode.root"
    ]
    while stack:
        op = stack.pop()
        yield op
        if op.name != "snode.place" and len(op.regions[0].blocks):
            stack += [
                child.operation
                for child in op.regions[0].blocks[0].operations
                if child.operation.name.startswith("snode.")
            ]


def places(module: ir.Operation) -> Iterator[ir.Operation]:
    """Every `snode.place` of a module."""
    return (op for op in tree_operations(module) if op.name == "snode.place")


def place_of(module: ir.Operation, name: str) -> ir.Operation | None:
    """The `snode.place` of a field, or None."""
    symbol = ir.StringAttr.get(name, module.context)
    return next((op for op in places(module) if op.attributes["sym_name"] == symbol), None)


def trees_around(place: ir.Operation) -> Iterator[ir.Operation]:
    """The blocks that a field lies in, innermost first, with the root."""
    op = place
    while op.name != "snode.root" and op.parent is not None:
        op = op.parent
        yield op


def element_and_shape(place: ir.Operation) -> tuple[str, tuple[int, ...]]:
    """Element type, and index axes, then component axes, of a field of a well-formed tree."""
    extents: dict[int, int] = {}
    for block in trees_around(place):
        if block.name == "snode.dense":
            axes = integers(block.attributes["axes"])
            for axis, extent in zip(axes, integers(block.attributes["extents"])):
                extents[axis] = extents.get(axis, 1) * extent
    components = integers(place.attributes["component_shape"])
    element = str(ir.TypeAttr(place.attributes["element"]).value)
    return element, (*(extents[axis] for axis in sorted(extents)), *components)
