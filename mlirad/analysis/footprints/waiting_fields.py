"""What a kernel does to each large field, and boxes of them that a launch goes by."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from mlirad.analysis.footprints.footprint import Axes, Bound, box_attribute
from mlirad.analysis.linear import Linear, linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, is_access, split_access
from mlirad.dialect.field_layout import path_to
from mlirad.dialect.snode import places
from mlirad.ir.ops import Func
from mlirad.ir.walk import array_root, enclosing, is_function_argument, operations


class Access(NamedTuple):
    """A load, a store or an update of a field."""

    op: ir.Operation
    array: ir.Value
    indices: list[ir.Value]


def accesses_by_field(kernel: ir.Operation) -> dict[str, list[Access]]:
    """All accesses to each field of which a kernel does nothing else but ask for its extents, and
    whose rows are those of its memory."""
    accesses, excluded = dict[str, list[Access]](), set[str]()
    for op in operations(kernel):
        if is_access(op):
            array, indices = split_access(op)
            root = array_root(array)
            if isinstance(root, str):
                accesses.setdefault(root, []).append(Access(op, array, indices))
        elif GetOp.holds(op) and not _is_only_accessed(op.results[0]):
            excluded.add(ir.FlatSymbolRefAttr(op.attributes["field"]).value)
    excluded |= _without_rows(enclosing(kernel))
    return {name: group for name, group in accesses.items() if name not in excluded}


def _without_rows(module: ir.Operation) -> set[str]:
    """The fields of which several blocks share an axis, so that their memory has more axes than
    they; and those in sparse blocks, which never wait."""
    fields = set[str]()
    for place in places(module):
        blocks = path_to(place)
        axes = [axis for block in blocks for axis in block.axes]
        if len(set(axes)) < len(axes) or any(block.kind.is_sparse for block in blocks):
            fields.add(ir.StringAttr(place.attributes["sym_name"]).value)
    return fields


def _is_only_accessed(array: ir.Value) -> bool:
    return all(is_access(use.owner) or DimOp.holds(use.owner) for use in array.uses)


def are_apart(left: Access, right: Access) -> bool:
    """Return whether accesses to one array have a place along an axis that differs by a number in
    every launch."""
    return any(
        index.terms == other.terms
        and index.constant != other.constant
        and all(map(is_function_argument, index.names))
        for index, other in zip(map(linear_form, left.indices), map(linear_form, right.indices))
    )


def is_outside_before(first: Access, second: Access) -> bool:
    """Return whether all that an access does is done before what is around the other begins."""
    first_outer, other = _outermost(first.op), _outermost(second.op)
    return first_outer != other and first_outer.is_before_in_block(other)


def _outermost(op: ir.Operation) -> ir.Operation:
    """The operation of the function's own block that one lies in."""
    while enclosing(op).name != Func.FUNC:
        op = enclosing(op)
    return op


def of_launch(bound: Bound | None, numbers: Mapping[int, int]) -> Bound | None:
    """A bound of the positions of parameters, as one of the numbers of arguments."""
    if bound is None or any(position not in numbers for position, _ in bound.terms):
        return None
    terms = frozenset((numbers[position], factor) for position, factor in bound.terms)
    return Linear(terms, bound.constant)


def note_boxes(module: ir.Operation, attribute: str, boxes: Mapping[str, Collection[Axes]]) -> None:
    """Note boxes of fields in an attribute of a module, for the runtime."""
    ordered = {
        name: sorted(set(some), key=lambda axes: str(box_attribute(axes)))
        for name, some in boxes.items()
    }
    note_in_order(module, attribute, ordered)


def note_in_order(
    module: ir.Operation, attribute: str, boxes: Mapping[str, Collection[Axes]]
) -> None:
    """Note boxes by their numbers."""
    notes = [
        ir.ArrayAttr.get(
            [
                ir.FlatSymbolRefAttr.get(name),
                ir.ArrayAttr.get([box_attribute(axes) for axes in some]),
            ]
        )
        for name, some in sorted(boxes.items())
        if some
    ]
    if notes:
        module.attributes[attribute] = ir.ArrayAttr.get(notes)
