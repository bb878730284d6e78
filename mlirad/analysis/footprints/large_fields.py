"""The accesses of a kernel to each field whose rows are those of its memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from mlirad.analysis.footprints.footprint import Axes, box_attribute
from mlirad.analysis.linear import linear_form
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, is_access, split_access
from mlirad.dialect.field_layout import path_to
from mlirad.dialect.snode import places
from mlirad.ir.walk import array_root, enclosing, is_function_argument, operations


class Access(msgspec.Struct, frozen=True):
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
    they; and those in sparse blocks."""
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
    """Return whether accesses to one array have places along an axis that differ by a number in
    every launch."""
    return any(
        index.terms == other.terms
        and index.constant != other.constant
        and all(map(is_function_argument, index.names))
        for index, other in zip(map(linear_form, left.indices), map(linear_form, right.indices))
    )


def note_boxes(module: ir.Operation, attribute: str, boxes: Mapping[str, Collection[Axes]]) -> None:
    """Note boxes of fields, by name, on a module."""
    notes = []
    for name, some in sorted(boxes.items()):
        ordered = sorted(map(box_attribute, set(some)), key=str)
        if ordered:
            symbol = ir.FlatSymbolRefAttr.get(name)
            notes.append(ir.ArrayAttr.get([symbol, ir.ArrayAttr.get(ordered)]))
    if notes:
        module.attributes[attribute] = ir.ArrayAttr.get(notes)
