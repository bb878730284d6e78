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

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from mlirad.bindings import ext, ir
from mlirad.dialect.view import View


class Snode(ext.Dialect, name="snode"):
    """Layout trees."""


class RootOp(View, dialect=Snode, name="root", traits=[ir.NoTerminatorTrait]):
    """One allocation. `"snode.root"() ({ ... }) {sym_name = "S0"} : () -> ()`"""

    sym_name: ir.StringAttr
    body: ext.Region

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


class DenseOp(View, dialect=Snode, name="dense", traits=[ir.NoTerminatorTrait]):
    """A block of cells over some axes. `"snode.dense"() ({ ... }) {axes = [0], extents = [16]} : ()
    -> ()`"""

    axes: ir.ArrayAttr
    extents: ir.ArrayAttr
    body: ext.Region

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


class PlaceOp(View, dialect=Snode, name="place"):
    """A field; `adjoint` and `duals`, where present, name the fields of its derivatives (a dual for
    each tangent).

    `"snode.place"() {sym_name = "x", element = f32, component_shape = []} : () -> ()`
    """

    sym_name: ir.StringAttr
    element: ir.TypeAttr
    component_shape: ir.ArrayAttr

    def verify_region_invariants(self) -> bool:
        return _accept(self.operation)


_INNER_BLOCKS = ("snode.dense",)  # which have an index
_BLOCKS = ("snode.root", *_INNER_BLOCKS)


def _accept(op: ir.Operation) -> bool:
    problem = problem_of(op)
    if problem is not None:
        op.location.emit_error(problem)
    return problem is None


def problem_of(op: ir.Operation) -> str | None:
    """What is wrong with an op of a layout tree, the ops inside it aside; None for nothing."""
    if op.name != "snode.root" and (op.parent is None or op.parent.name not in _BLOCKS):
        return f"'{op.name}' stands outside a layout tree"
    if op.name == "snode.place":
        return _problem_of_place(op)
    if op.name != "snode.root" and (problem := _problem_of_axes(op)) is not None:
        return problem
    if len(op.regions[0].blocks) != 1:
        return f"'{op.name}' holds {len(op.regions[0].blocks)} blocks, expected one"
    foreign = [
        child.name for child in children_of(op) if child.name not in (*_INNER_BLOCKS, "snode.place")
    ]
    return f"'{foreign[0]}' cannot stand in a layout tree" if foreign else None


def _problem_of_axes(op: ir.Operation) -> str | None:
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
    if element not in ELEMENT_SIZES:
        return f"a field of {element}, expected one of {', '.join(ELEMENT_SIZES)}"
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


ELEMENT_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "i16": 2, "i8": 1, "i1": 1}


def root(name: str, children: Sequence[ir.Operation]) -> ir.Operation:
    """A `snode.root` at the insertion point, around blocks and places that stand nowhere yet."""
    made = ir.Operation.create(
        "snode.root", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1
    )
    return _around(made, children)


def dense(
    axes: Sequence[int], extents: Sequence[int], children: Sequence[ir.Operation]
) -> ir.Operation:
    """A `snode.dense`, for a block to be put around it."""
    attributes = {"axes": _integer_array(axes), "extents": _integer_array(extents)}
    made = ir.Operation.create("snode.dense", attributes=attributes, regions=1, ip=False)
    return _around(made, children)


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


def children_of(block: ir.Operation) -> list[ir.Operation]:
    """The blocks and places directly in a root or a block."""
    return [child.operation for child in block.regions[0].blocks[0].operations]


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


def element_and_shape(place: ir.Operation) -> tuple[str, tuple[int, ...]]:
    """Element type, and index axes, then component axes, of a field of a well-formed tree."""
    extents: dict[int, int] = {}
    for block in trees_around(place):
        if block.name != "snode.root":
            axes = integers(block.attributes["axes"])
            for axis, extent in zip(axes, integers(block.attributes["extents"])):
                extents[axis] = extents.get(axis, 1) * extent
    components = integers(place.attributes["component_shape"])
    element = str(ir.TypeAttr(place.attributes["element"]).value)
    return element, (*(extents[axis] for axis in sorted(extents)), *components)
