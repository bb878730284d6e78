"""Refuse kernels whose reverse would read values that the kernel itself overwrites.

The reverse recomputes what it needs from memory as the kernel leaves it. So every load that it needs has to be safe
from every later write of the same launch (AUTODIFF.md §3).
"""
from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError, located
from mlirad.passes._activity import Activity
from mlirad.passes._graph import Graph, Node
from mlirad.passes._location import source_location
from mlirad.passes._needed import Needed
from mlirad.passes._overwrite import Overwrites
from mlirad.passes._walk import functions


def check_access_rules(module: ir.Operation) -> None:
    """Refuse needed loads that a later write of the same kernel may overwrite."""
    for function in functions(module):
        if "sym_visibility" not in function.attributes:
            _check(module, function)


def _check(module: ir.Operation, function: ir.Operation) -> None:
    graph = Graph(function)
    needed = Needed(graph, Activity(module, function, graph))
    values = {value for value, _ in needed.keys}
    loads = [n for n in graph.nodes() if n.name == "field.load" and n.results[0] in values]
    writes: dict[object, list[Node]] = {}
    for node in graph.nodes():
        if node.name in ("field.store", "field.atomic"):
            writes.setdefault(node.array, []).append(node)
    overwrites = Overwrites(graph)
    for load in loads:
        if load.array in needed.activity.cells and load.block.depth == 0:
            continue  # replayed in order
        for write in writes.get(load.array, []):
            if overwrites.may_overwrite(load, write):
                _refuse(load, write)


def _refuse(load: Node, write: Node) -> None:
    name = load.array if isinstance(load.array, str) else "an array of the launch"
    places = [source_location(node.op.location) for node in (load, write)]
    message = (f"the gradient needs the value of '{name}' that is read here, but the same kernel overwrites it "
               "afterwards")
    known = [place for place in places if place is not None]
    if not known:
        raise TaichiCompilationError(message)
    error = TaichiCompilationError(located(message, *known))
    error.reason, error.source = message, known[0]
    raise error
