"""Accesses to memory as notes in IR: which array, what is done, where, in which box."""

from __future__ import annotations

from mlirad.analysis.footprints.footprint import box_attribute, footprint, named_array
from mlirad.bindings import ir
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reports.location import place_attribute, source_location


def access_note(graph: Graph, node: Node, kind: str, use: str = "") -> ir.Attribute:
    """A dictionary of the array (a symbol, or the number of an argument), `access` (the kind),
    `place`, `box`, and, where it is given, `part`."""
    note = {
        "array": named_array(node.array),
        "access": ir.StringAttr.get(kind),
        "box": box_attribute(footprint([graph.values[i] for i in node.indices])),
        "place": place_attribute(source_location(node.op.location)),
    }
    return ir.DictAttr.get({**note, "part": ir.StringAttr.get(use)} if use else note)
