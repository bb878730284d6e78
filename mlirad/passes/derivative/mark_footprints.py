"""Note on every public function which elements it writes, and which its reverse reads.

`field.footprints` holds one dictionary an access: the array (a symbol, or the number of an
argument), `access`, the place in the source, and `box`, for each axis the low and the high bound as
`[constant, argument, factor, ...]`; an empty bound is not known. The tape evaluates them with the
arguments of each launch (docs/gradients.md, 5). `access` is "needed", "written", "stored" for
writes whose values the reverse may load, or "active" for reads of array arguments that carry a
derivative.
"""

from mlirad.analysis.derivatives.activity import activity_of
from mlirad.analysis.derivatives.needed import needed_of
from mlirad.analysis.derivatives.redone import redone_arrays
from mlirad.analysis.footprints.access_notes import access_note
from mlirad.analysis.footprints.footprint import is_named
from mlirad.analysis.races.collisions import collisions_of
from mlirad.analysis.races.lasting_stores import find_stores, mark_stores
from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_load, is_write
from mlirad.dialect.field_layout import layouts
from mlirad.ir.graph import Node
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

REQUIRES = KERNELS


def mark_footprints(module: ir.Operation) -> None:
    """Note on each public function the boxes that it writes, and those of reads that its reverse
    needs. Mark the stores whose values the reverse may load."""
    for function in functions(module):
        if not is_private(function):
            notes = _notes(module, function)
            module.attributes["field.footprints"] = ir.ArrayAttr.get(notes)


def _notes(module: ir.Operation, function: ir.Operation) -> list[ir.Attribute]:
    activity = activity_of(module, function)
    graph = activity.graph
    needed = needed_of(activity, redone_arrays(function, graph))
    sparse = {name for name, layout in layouts(module).items() if layout.activities}
    stores = find_stores(needed, sparse)
    values = {value for value, _ in needed.keys} | collisions_of(activity).read(needed)
    notes: dict[str, ir.Attribute] = {}
    for node in graph.nodes():
        if not node.is_access or node.array in activity.local or not is_named(node.array):
            continue
        if (is_load(node) and node.results[0] in values) or (
            node in needed.work and _is_choice(node)
        ):
            note = access_note(graph, node, "needed")
            notes.setdefault(str(note), note)
        if (
            is_load(node)
            and isinstance(node.array, ir.BlockArgument)
            and node.results[0] in activity.active
        ):
            note = access_note(graph, node, "active")
            notes.setdefault(str(note), note)
        if is_write(node):
            note = access_note(graph, node, "written")
            notes.setdefault(str(note), note)
        if node in stores:
            note = access_note(graph, node, "stored")
            notes.setdefault(str(note), note)
    mark_stores(stores, graph)
    return list(notes.values())


def _is_choice(node: Node) -> bool:
    """Return whether the reverse looks which of the values was chosen, in memory as the kernel
    leaves it."""
    return is_atomic(node) and atomic_kind(node.op) in (AtomicKind.MIN, AtomicKind.MAX)
