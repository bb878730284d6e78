"""Replace kernels by their reverse: from the adjoints of what a kernel wrote to the adjoints of
what it read.

Assumes normalized kernels (`mem2reg`, no calls) whose needed loads still hold their values
(`check-access-rules`). The reverse of a block first computes what it needs anew (see
`derivatives/needed.py`), then visits its ops backwards. Fields keep their adjoints in the fields
that their placement names; an ndarray argument marked `field.needs_grad` gets a further argument of
its type, behind all others, for its adjoint; results are dropped.
"""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.differentiable import differentiable_in_reverse
from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.derivatives.redone import redone_arrays
from mlirad.analysis.finite import infinite_arrays
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.dialect.field import AllocaOp, GetOp
from mlirad.ir import build as b
from mlirad.ir.graph import Graph
from mlirad.ir.marks.rounding import DERIVATIVE, EXACT, mark_unmarked
from mlirad.ir.marks.stored import marked_stores
from mlirad.ir.requirements import KERNELS, is_private, refuse
from mlirad.ir.signature import adjoint_label, label_parameters, parameter_attributes
from mlirad.ir.structured import is_parallel, is_serial_loop
from mlirad.ir.walk import Array, entry_of, functions
from mlirad.sweeps.recompute import Recompute
from mlirad.sweeps.reverse import Reverse

REQUIRES = (*KERNELS, differentiable_in_reverse)


def differentiate_reverse(
    module: ir.Operation, *, again: bool = False, stored: bool = False
) -> None:
    """Replace every public function by its reverse.

    With `again` it may be differentiated itself, and keeps its derivatives where an adjoint is 0.
    With `stored` it loads what `mark-footprints` has marked, and fields have to hold what the
    launch stored there.
    """
    for function in functions(module):
        if not is_private(function):
            _differentiate(module, function, again, stored)


def _differentiate(module: ir.Operation, function: ir.Operation, again: bool, stored: bool) -> None:
    mark_unmarked(function.regions[0], EXACT)
    graph = Graph(function)
    activity = Activity(module, function, graph)
    loaded = marked_stores(graph) if stored else {}
    needed = NeededValues(graph, activity, redone_arrays(function, graph), loaded)
    inputs = [graph.values[v].type for v in graph.body.arguments]
    extra = [v for v in graph.body.arguments if graph.values[v] in activity.adjoint]
    types = inputs + [graph.values[v].type for v in extra]
    labels = parameter_attributes(function)
    adjoint = [adjoint_label(label) for label, v in zip(labels, graph.body.arguments) if v in extra]
    reverse = b.function_like(function, types, [], label_parameters([*labels, *adjoint]))
    entry = entry_of(reverse)
    arguments = list(entry.arguments)
    environment: dict[int, ir.Value] = dict(zip(graph.body.arguments, arguments))
    adjoints: dict[Array, ir.Value] = {
        graph.values[v]: argument for v, argument in zip(extra, arguments[len(inputs) :])
    }
    with ir.InsertionPoint(entry), function.location:
        _get_arrays(graph, activity, environment, adjoints)
        recompute = Recompute(graph, activity, needed)
        infinite = infinite_arrays(module, graph)
        Reverse(
            graph, activity, needed, recompute, adjoints, infinite=infinite, again=again
        ).function(environment)
        b.return_()
    mark_unmarked(reverse.regions[0], DERIVATIVE)
    function.erase()


def _get_arrays(
    graph: Graph,
    activity: Activity,
    environment: dict[int, ir.Value],
    adjoints: dict[Array, ir.Value],
) -> None:
    """Get every field, cell and adjoint that the function touches, at its start."""
    for node in graph.nodes():
        if GetOp.holds(node):
            environment[node.results[0]] = node.op.clone().results[0]
        elif is_parallel(node) and any(map(is_serial_loop, node.owners)):
            refuse(
                node.op,
                "the reverse of a parallel loop within a serial one: run serialize-inner-loops "
                "first",
            )
        elif AllocaOp.holds(node):
            if any(map(is_parallel, node.owners)):
                refuse(node.op, "the reverse of a parallel loop with an array of its own")
            environment[node.results[0]] = node.op.clone().results[0]
            value = graph.values[node.results[0]]
            if value in activity.local:
                adjoints[value] = node.op.clone().results[0]
    for node in list(graph.nodes()):
        name = activity.adjoint.get(node.array) if node.is_access else None
        if name is not None and node.array not in adjoints:
            type_ = graph.values[node.array_value].type
            adjoints[node.array] = field.get(name, type_)
