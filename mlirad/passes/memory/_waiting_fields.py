"""What a kernel does to each large field, and boxes of them that a launch goes by."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mlirad.analysis.footprint import Axes, Bound, box_attribute
from mlirad.analysis.linear import Linear
from mlirad.bindings import ir
from mlirad.dialect.field import DimOp, GetOp, is_access, split_access
from mlirad.ir.walk import array_root, operations
from mlirad.named_tuples import NamedTuple


class Access(NamedTuple):
    """A load, a store or an update of a field."""

    op: ir.Operation
    array: ir.Value
    indices: list[ir.Value]


def accesses_by_field(kernel: ir.Operation) -> dict[str, list[Access]]:
    """All accesses to each field of which a kernel does nothing else but ask for its extents."""
    found, others = dict[str, list[Access]](), set[str]()
    for op in operations(kernel):
        if is_access(op):
            array, indices = split_access(op)
            root = array_root(array)
            if isinstance(root, str):
                found.setdefault(root, []).append(Access(op, array, indices))
        elif GetOp.holds(op) and not _is_only_accessed(op.results[0]):
            others.add(ir.FlatSymbolRefAttr(op.attributes["field"]).value)
    return {name: group for name, group in found.items() if name not in others}


def _is_only_accessed(array: ir.Value) -> bool:
    return all(is_access(use.owner) or DimOp.holds(use.owner) for use in array.uses)


def of_launch(bound: Bound | None, numbers: Mapping[int, int]) -> Bound | None:
    """A bound of the positions of parameters, as one of the numbers of arguments."""
    if bound is None or any(position not in numbers for position, _ in bound.terms):
        return None
    terms = frozenset((numbers[position], factor) for position, factor in bound.terms)
    return Linear(terms, bound.constant)


def note_boxes(module: ir.Operation, attribute: str, boxes: Mapping[str, Collection[Axes]]) -> None:
    """Note boxes of fields in an attribute of a module, for `read_boxes`."""
    notes = {
        name: ir.ArrayAttr.get(sorted((box_attribute(axes) for axes in set(some)), key=str))
        for name, some in boxes.items()
        if some
    }
    if notes:
        module.attributes[attribute] = ir.DictAttr.get(notes)
