"""Refuse kernels to differentiate that use the gradient of an array argument themselves.

The frontend marks such a gradient, an argument behind that of its array, by `field.gradient`. The
reverse adds to the same memory where a derivative passes through the array, and takes arguments to
lie apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlirad.analysis.derivatives.activity import activity_of
from mlirad.analysis.derivatives.array_flows import ArrayFlows
from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError, TaichiDerivativeError, of_accesses
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reports.location import source_location
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.signature import parameter_attributes
from mlirad.ir.walk import functions

REQUIRES = KERNELS
ONLY_MARKS = True


def check_gradient_arguments(module: ir.Operation) -> None:
    """Refuse to differentiate kernels that use the gradient of an array argument, if the reverse
    adds to this gradient or needs its derivative."""
    for function in functions(module):
        if is_private(function):
            continue
        marks = parameter_attributes(function)
        gradients = [number for number, mark in enumerate(marks) if "field.gradient" in mark]
        if gradients:
            _check(module, function, gradients)


def _check(module: ir.Operation, function: ir.Operation, gradients: list[int]) -> None:
    activity = activity_of(module, function)
    graph = activity.graph
    arguments = function.regions[0].blocks[0].arguments
    for number in gradients:
        uses = next(_accesses(graph, arguments[number]), None)
        for node in _accesses(graph, arguments[number - 1]):
            if uses is not None and not activity.active.isdisjoint((*node.operands, *node.results)):
                raise _refusal(_BESIDE, uses, node)
    flows, used = ArrayFlows(graph), {arguments[number] for number in gradients}
    for array, sources in flows.into.items():
        if array in activity.adjoint and not used.isdisjoint(sources):
            raise _refusal(_THROUGH, flows.writer[array])


_BESIDE = (
    "the gradient of an array argument is used in a kernel through which a derivative passes "
    "to it, and the reverse would add to it: use it in a kernel of its own, outside of the "
    "tape or under ti.ad.no_grad"
)
_THROUGH = (
    "Cannot automatically differentiate through a grad tensor: the gradient of an array argument "
    "reaches an array with a gradient here, and has none itself"
)


def _refusal(message: str, *nodes: Node) -> TaichiCompilationError:
    places = [source_location(node.op.location) for node in nodes]
    kind = TaichiDerivativeError if message is _THROUGH else TaichiCompilationError
    return of_accesses(message, [place for place in places if place is not None], kind)


def _accesses(graph: Graph, array: ir.Value) -> Iterator[Node]:
    return (node for node in graph.nodes() if node.is_access and node.array == array)
