"""Note in `field.flows` which arrays (`target`) get floats made of others (`sources`), and where.

`field.results` holds the arrays of whose floats the results of the function are made.
"""

from collections.abc import Collection

from mlirad.analysis.derivatives.array_flows import ArrayFlows
from mlirad.analysis.footprints.footprint import is_named, named_array
from mlirad.bindings import ir
from mlirad.ir.graph import graph_of
from mlirad.ir.reports.location import place_attribute, source_location
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import Array, functions

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_flows(module: ir.Operation) -> None:
    """Note between which arrays derivatives flow."""
    for function in functions(module):
        if not is_private(function):
            graph = graph_of(function)
            flows = ArrayFlows(graph)
            module.attributes["field.flows"] = ir.ArrayAttr.get(_flows(flows))
            results = flows.arrays_of(graph.body.terminator.operands)
            if results:
                module.attributes["field.results"] = ir.ArrayAttr.get(_names(results))


def _flows(flows: ArrayFlows) -> list[ir.Attribute]:
    return [
        ir.DictAttr.get(
            {
                "target": named_array(target),
                "place": place_attribute(source_location(flows.writer[target].op.location)),
                "sources": ir.ArrayAttr.get(_names(sources)),
            }
        )
        for target, sources in flows.into.items()
        if sources and is_named(target)
    ]


def _names(arrays: Collection[Array]) -> list[ir.Attribute]:
    return [named_array(array) for array in sorted((a for a in arrays if is_named(a)), key=str)]
