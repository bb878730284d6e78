"""Note in `field.poles` which arrays may be given infinities: the array, whether it is by a
division or its like, and the arrays that what it is given is made of.

Assumes that locals are values. Numbers in memory count as finite, but for arrays marked
`field.infinite`.
"""

from mlirad.analysis.derivatives.array_flows import MARKED, ArrayFlows
from mlirad.analysis.finite import Finiteness, infinite_arrays
from mlirad.analysis.footprints.footprint import is_named, named_array
from mlirad.bindings import ir
from mlirad.ir.graph import graph_of
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.walk import functions

REQUIRES = KERNELS
ONLY_MARKS = True


def mark_poles(module: ir.Operation) -> None:
    """Note which arrays may receive infinities, and from which arrays they come."""
    for function in functions(module):
        if not is_private(function):
            graph = graph_of(function)
            finiteness = Finiteness(graph, infinite_arrays(module, graph))
            flows = ArrayFlows(graph, finiteness.gives_infinities)
            module.attributes["field.poles"] = ir.ArrayAttr.get(
                [
                    ir.ArrayAttr.get(
                        [
                            named_array(target),
                            ir.BoolAttr.get(MARKED in sources),
                            *map(named_array, sorted(filter(is_named, sources), key=str)),
                        ]
                    )
                    for target, sources in flows.into.items()
                    if sources and is_named(target)
                ]
            )
