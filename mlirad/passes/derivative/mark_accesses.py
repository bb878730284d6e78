"""Note on every public function which elements it reads and writes, whatever its derivative needs.

`field.accesses` holds one dictionary an access: the array (a symbol, or the number of an argument),
`access` ("read" or "written"), the place in the source, and `box`, as `mark-footprints` has it. A
tape asks for these inside functions with a gradient of their own, whose kernels may have no
derivative.
"""

from mlirad.analysis.access_notes import access_note, is_local
from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic, is_write
from mlirad.ir.graph import Graph, Node
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

REQUIRES = KERNELS


def mark_accesses(module: ir.Operation) -> None:
    """Note the boxes of reads and of writes."""
    for function in functions(module):
        if not is_private(function):
            module.attributes["field.accesses"] = ir.ArrayAttr.get(_notes(function))


def _notes(function: ir.Operation) -> list[ir.Attribute]:
    graph = Graph(function)
    notes: dict[str, ir.Attribute] = {}
    for node in graph.nodes():
        if not node.is_access or is_local(graph, node):
            continue
        for kind in _kinds(node):
            note = access_note(graph, node, kind)
            notes.setdefault(str(note), note)
    return list(notes.values())


def _kinds(node: Node) -> list[str]:
    """What an access does; an update does both."""
    return ["read"] * (not is_write(node) or is_atomic(node)) + ["written"] * is_write(node)
