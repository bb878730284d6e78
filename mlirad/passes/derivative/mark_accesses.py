"""Note on every public function which elements it reads and writes, whatever its derivative needs.

`field.accesses` holds one dictionary an access: the array (a symbol, or the number of an argument),
`access` ("read" or "written"), the place in the source, and `box`, as `mark-footprints` has it. A
tape asks for these inside functions with a gradient of their own, whose kernels may have no
derivative, and where it may launch kernels again. `part` says "sum" of updates whose result nobody
uses, and "whole" of stores that are known to set all of their box.
"""

from mlirad.analysis.footprints.access_notes import access_note
from mlirad.analysis.footprints.covering import covers_box
from mlirad.analysis.footprints.footprint import is_named
from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic, is_write
from mlirad.ir.graph import Graph, Node, graph_of
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions, has_uses

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_accesses(module: ir.Operation) -> None:
    """Note on each public function the boxes that it reads and writes."""
    for function in functions(module):
        if not is_private(function):
            module.attributes["field.accesses"] = ir.ArrayAttr.get(_notes(function))


def _notes(function: ir.Operation) -> list[ir.Attribute]:
    graph = graph_of(function)
    notes: dict[str, ir.Attribute] = {}
    for node in graph.nodes():
        if not node.is_access or not is_named(node.array):
            continue
        for kind in _kinds(node):
            note = access_note(graph, node, kind, _part(graph, node))
            notes.setdefault(str(note), note)
    return list(notes.values())


def _kinds(node: Node) -> list[str]:
    """Return the kinds of an access; an update reads and writes."""
    return ["read"] * (not is_write(node) or is_atomic(node)) + ["written"] * is_write(node)


def _part(graph: Graph, node: Node) -> str:
    """Return the known use, or change, of the elements of a box by an access."""
    if is_atomic(node):
        return "" if has_uses(node.op.results[0]) else "sum"
    return "whole" if is_write(node) and covers_box(graph, node) else ""
