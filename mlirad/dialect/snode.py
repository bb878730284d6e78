"""The layout of fields: a tree of blocks whose leaves are named fields.

    snode.root @S0 {
      snode.dense [4, 8] {
        snode.place @x [2] : f32 adjoint(@x.grad)
      }
    }

The children of a block are adjacent in each of its cells. The index of a field covers the axes of
the blocks above it, with the outermost block most significant. Its components are contiguous in the
cell.

Cells of a `pointer`, `bitmasked`, or `dynamic` block are active or inactive, but all have a place
in memory, like those of a dense block. A separate field in a separate tree, the block's `activity`,
stores which are active: one byte per cell of a pointer or bitmasked block, and one length per list
of a dynamic block.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from mlirad.bindings import ext, ir
from mlirad.dialect.layout_rules import children_of, extents_along, integers, problem_of
from mlirad.dialect.view import View

INFINITE = "field.infinite"  # of a place: the field may hold infinities


class Snode(ext.Dialect, name="snode"):
    """Layout trees."""


class RootOp(View, dialect=Snode, name="root", traits=[ir.NoTerminatorTrait]):
    """A root of the layout: one allocation. `snode.root @S0 { ... }`"""

    sym_name: ir.StringAttr
    body: ext.Region

    def problem(self) -> str | None:
        return problem_of(self.operation)


class DenseOp(View, dialect=Snode, name="dense", traits=[ir.NoTerminatorTrait]):
    """A block of cells along one or more axes. `snode.dense [16] { ... }`"""

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    body: ext.Region

    def problem(self) -> str | None:
        return problem_of(self.operation)


class PointerOp(View, dialect=Snode, name="pointer", traits=[ir.NoTerminatorTrait]):
    """A block whose cells are active or inactive; everything below an inactive cell is 0.

    `snode.pointer [16] activity(@p) { ... }`
    """

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    activity: ir.FlatSymbolRefAttr
    body: ext.Region

    def problem(self) -> str | None:
        return problem_of(self.operation)


class BitmaskedOp(View, dialect=Snode, name="bitmasked", traits=[ir.NoTerminatorTrait]):
    """A block whose cells are active or inactive; inactive cells keep their values.

    `snode.bitmasked [16] activity(@b) { ... }`
    """

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    activity: ir.FlatSymbolRefAttr
    body: ext.Region

    def problem(self) -> str | None:
        return problem_of(self.operation)


class DynamicOp(View, dialect=Snode, name="dynamic", traits=[ir.NoTerminatorTrait]):
    """A list along one axis, one per surrounding cell, of at most this many items. Items before
    its length are active.

    `snode.dynamic [16] activity(@d) { ... }`
    """

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    activity: ir.FlatSymbolRefAttr
    body: ext.Region

    def problem(self) -> str | None:
        return problem_of(self.operation)


class PlaceOp(View, dialect=Snode, name="place"):
    """A field. `adjoint` and `duals`, if present, name the fields of its derivatives (one dual per
    tangent).

    `snode.place @x : f32`
    """

    sym_name: ir.StringAttr
    element: ir.TypeAttr
    component_shape: ir.ArrayAttr

    def problem(self) -> str | None:
        return problem_of(self.operation)


def root(name: str, children: Sequence[ir.Operation]) -> ir.Operation:
    """A `snode.root` at the insertion point, around blocks and places that stand nowhere yet."""
    tree = ir.Operation.create(
        "snode.root", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1
    )
    return _around(tree, children)


def dense(
    axes: Sequence[int], extents: Sequence[int], children: Sequence[ir.Operation]
) -> ir.Operation:
    """A `snode.dense`, for a block to be put around it."""
    attributes = {"axes": _integer_array(axes), "extents": _integer_array(extents)}
    block = ir.Operation.create("snode.dense", attributes=attributes, regions=1, ip=False)
    return _around(block, children)


def sparse(
    name: str,
    axes: Sequence[int],
    extents: Sequence[int],
    activity: str,
    children: Sequence[ir.Operation],
) -> ir.Operation:
    """A block of an op's name whose activity is in a field, for a block to be put around it."""
    attributes = {
        "axes": _integer_array(axes),
        "extents": _integer_array(extents),
        "activity": ir.FlatSymbolRefAttr.get(activity),
    }
    block = ir.Operation.create(name, attributes=attributes, regions=1, ip=False)
    return _around(block, children)


def place(
    name: str,
    element: ir.Type,
    component_shape: Sequence[int] = (),
    *,
    adjoint: str | None = None,
    duals: Sequence[str] = (),
    marks: Mapping[str, ir.Attribute] = MappingProxyType({}),
) -> ir.Operation:
    """A `snode.place`, with further attributes where it is marked, for a block to be put around
    it."""
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "element": ir.TypeAttr.get(element),
        "component_shape": _integer_array(component_shape),
        **marks,
    }
    if adjoint is not None:
        attributes["adjoint"] = ir.FlatSymbolRefAttr.get(adjoint)
    if duals:
        names: list[ir.Attribute] = [ir.FlatSymbolRefAttr.get(dual) for dual in duals]
        attributes["duals"] = ir.ArrayAttr.get(names)
    return ir.Operation.create("snode.place", attributes=attributes, ip=False)


def _around(block: ir.Operation, children: Sequence[ir.Operation]) -> ir.Operation:
    body = ir.Block.create_at_start(block.regions[0], [])
    for child in children:
        body.append(child)
    return block


def _integer_array(values: Sequence[int]) -> ir.Attribute:
    type_ = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(type_, value) for value in values])


def activity_of(block: ir.Operation) -> str:
    """The field of the activity of a block."""
    return ir.FlatSymbolRefAttr(block.attributes["activity"]).value


def duals_of(place: ir.Operation) -> tuple[str, ...]:
    """The fields that hold the tangents of a field, one for each."""
    if "duals" not in place.attributes:
        return ()
    return tuple(
        ir.FlatSymbolRefAttr(name).value for name in ir.ArrayAttr(place.attributes["duals"])
    )


def roots(module: ir.Operation) -> list[ir.Operation]:
    """Every `snode.root` of a module."""
    return [op for op in children_of(module) if op.name == "snode.root"]


def tree_operations(module: ir.Operation) -> Iterator[ir.Operation]:
    """Every op of the layout trees of a module, as far as they are well formed."""
    stack = roots(module)
    while stack:
        op = stack.pop()
        yield op
        if op.name != "snode.place" and len(op.regions[0].blocks):
            stack += [child for child in children_of(op) if child.name.startswith("snode.")]


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


def extents_of(blocks: Iterable[ir.Operation]) -> dict[int, int]:
    """Return how many cells nested blocks have along each of their axes."""
    return extents_along(
        (integers(block.attributes["axes"]), integers(block.attributes["extents"]))
        for block in blocks
    )


def element_and_shape(place: ir.Operation) -> tuple[str, tuple[int, ...]]:
    """Element type, and index axes, then component axes, of a field of a well-formed tree."""
    extents = extents_of(block for block in trees_around(place) if block.name != "snode.root")
    components = integers(place.attributes["component_shape"])
    element = str(ir.TypeAttr(place.attributes["element"]).value)
    return element, (*(extents[axis] for axis in sorted(extents)), *components)


def module_of(op: ir.Operation) -> ir.Operation:
    while op.parent is not None and op.name != "builtin.module":
        op = op.parent
    return op
