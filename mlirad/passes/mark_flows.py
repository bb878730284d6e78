"""Note in `field.flows` which arrays get floats made of others: the array, its place in the source, and the others."""
from mlirad.bindings import ir
from mlirad.passes._array_flows import ArrayFlows
from mlirad.passes._footprint import is_named, named_array
from mlirad.passes._graph import Graph
from mlirad.passes._requirements import KERNELS
from mlirad.passes._walk import functions

REQUIRES = KERNELS


def mark_flows(module: ir.Operation) -> None:
    """Note between which arrays derivatives pass."""
    for function in functions(module):
        if "sym_visibility" not in function.attributes:
            module.attributes["field.flows"] = ir.ArrayAttr.get(_flows(function))


def _flows(function: ir.Operation) -> list[ir.Attribute]:
    found = ArrayFlows(Graph(function))
    return [ir.ArrayAttr.get([named_array(target), ir.StringAttr.get(str(found.writer[target].op.location)),
                              *map(named_array, sorted(filter(is_named, sources), key=str))])
            for target, sources in found.into.items() if sources and is_named(target)]
