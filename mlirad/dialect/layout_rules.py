"""Rules of what a layout tree may contain, which the verifiers of its ops check."""

from collections.abc import Iterable, Sequence

from mlirad.bindings import ir
from mlirad.dialect.view import NamedOp

POINTER, BITMASKED, DYNAMIC = "snode.pointer", "snode.bitmasked", "snode.dynamic"
_SPARSE = (POINTER, BITMASKED, DYNAMIC)
_INNER_BLOCKS = ("snode.dense", *_SPARSE)  # which have an index
_BLOCKS = ("snode.root", *_INNER_BLOCKS)
ELEMENT_SIZES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "i16": 2, "i8": 1, "i1": 1}


def problem_of(op: ir.Operation) -> str | None:
    """Return what is wrong with an op of a layout tree, except for the ops inside it; None if
    nothing is."""
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
    return f"'{foreign[0]}' cannot be in a layout tree" if foreign else None


def _problem_of_axes(op: ir.Operation) -> str | None:
    kind = op.name.removeprefix("snode.")
    if not (_are_integers(op.attributes["axes"]) and _are_integers(op.attributes["extents"])):
        return f"axes and extents of a {kind} block are not all integers"
    axes, extents = integers(op.attributes["axes"]), integers(op.attributes["extents"])
    if len(axes) != len(extents) or not axes:
        return f"a {kind} block has {len(axes)} axes and {len(extents)} extents, expected as many"
    if len(set(axes)) != len(axes) or min(axes) < 0:
        return f"axes {list(axes)} of a {kind} block are not distinct and non-negative"
    if min(extents) <= 0:
        return f"extents {list(extents)} of a {kind} block are not positive"
    return _problem_of_activity(op) if is_sparse(op) else None


def _problem_of_activity(op: ir.Operation) -> str | None:
    activity = op.attributes["activity"]
    if not isinstance(activity, ir.FlatSymbolRefAttr):
        return f"the activity {activity} is not the name of a field"
    axes = integers(op.attributes["axes"])
    if op.name == DYNAMIC and len(axes) != 1:
        return f"a dynamic block has {len(axes)} axes, expected one"
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


def extents_along(blocks: Iterable[tuple[Sequence[int], Sequence[int]]]) -> dict[int, int]:
    """Return how many cells nested blocks have along each of their axes; a block is given as its
    axes and the extents along them."""
    cells: dict[int, int] = {}
    for axes, extents in blocks:
        for axis, extent in zip(axes, extents):
            cells[axis] = cells.get(axis, 1) * extent
    return cells


def children_of(block: ir.Operation) -> list[ir.Operation]:
    """The blocks and places directly in a root or a block."""
    return [child.operation for child in block.regions[0].blocks[0].operations]


def is_sparse(op: NamedOp) -> bool:
    """Return whether an op is a block whose cells may be inactive."""
    return op.name in _SPARSE
