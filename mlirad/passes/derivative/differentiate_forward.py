"""Give every public function tangents: it computes what it did, and how that changes in some
directions.

The directions of a field are in the fields that its placement names as `duals`; the first
`tangents` of them are used. Behind the other arguments come as many arrays of tangents for each
array argument that has an adjoint, or is one. With `constant`, what arrays hold counts as constant:
writes set tangents to zero, and nothing else passes.
"""

from typing import Annotated

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.differentiable import differentiable_forward
from mlirad.bindings import ir
from mlirad.dialect import field
from mlirad.errors import TaichiCompilationError
from mlirad.ir import build as b
from mlirad.ir.graph import Graph
from mlirad.ir.limits import Range
from mlirad.ir.marks.rounding import DERIVATIVE, EXACT, mark_unmarked
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.signature import function_type, label_parameters, parameter_attributes, tangent_label
from mlirad.ir.walk import entry_of, functions
from mlirad.sweeps.forward import Forward

Tangents = Annotated[int, Range(1, 4096)]

REQUIRES = (*KERNELS, differentiable_forward)


def differentiate_forward(
    module: ir.Operation, *, tangents: Tangents = 1, constant: bool = False
) -> None:
    """Replace every public function by one that also computes tangents."""
    for function in functions(module):
        if not is_private(function):
            _differentiate(module, function, tangents, constant)


def _differentiate(
    module: ir.Operation, function: ir.Operation, count: int, constant: bool
) -> None:
    mark_unmarked(function.regions[0], EXACT)
    graph = Graph(function)
    activity = Activity(module, function, graph, with_duals=True)
    if constant:
        activity.active = set()
    parameters = graph.body.arguments
    carriers = [v for v in parameters if graph.values[v] in activity.duals]
    types = [graph.values[v].type for v in parameters] + [
        graph.values[v].type for v in carriers for _ in range(count)
    ]
    results = function_type(function).results
    labels = parameter_attributes(function)
    duals = [
        tangent_label(label, k)
        for label, v in zip(labels, parameters)
        if v in carriers
        for k in range(count)
    ]
    dual = b.function_like(function, types, results, label_parameters([*labels, *duals]))
    entry = entry_of(dual)
    arguments: list[ir.Value] = list(entry.arguments)
    forward = Forward(graph, activity, count, dict(zip(parameters, arguments)))
    for k, v in enumerate(carriers):
        first = len(parameters) + k * count
        forward.arrays[graph.values[v]] = arguments[first : first + count]
    with ir.InsertionPoint(entry), function.location:
        _get_duals(graph, activity, forward, count)
        forward.block(graph.body)
        b.return_(forward.values(graph.body.terminator.operands))
    mark_unmarked(dual.regions[0], DERIVATIVE)
    function.erase()


def _get_duals(graph: Graph, activity: Activity, forward: Forward, count: int) -> None:
    """Get the tangents of every field that the function touches, at its start. Raises where there
    are too few."""
    for node in graph.nodes():
        names = activity.duals.get(node.array) if node.is_access else None
        if names is None or node.array in forward.arrays:
            continue
        if len(names) < count:
            raise TaichiCompilationError(
                f"field '{node.array}' has {len(names)} tangents, expected {count}",
                source_location(node.op.location),
            )
        type_ = graph.values[node.array_value].type
        forward.arrays[node.array] = [field.get(name, type_) for name in names[:count]]
