"""Which arrays' writes the reverse of a function does again, as `check-access-rules` has noted."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.ir.graph import Graph
from mlirad.ir.walk import Array


def redone_arrays(function: ir.Operation, graph: Graph) -> frozenset[Array]:
    """The arrays whose writes `check-access-rules` wants done again: fields by name, arguments by
    number."""
    if "grad.redone" not in function.attributes:
        return frozenset()
    arrays: set[Array] = set()
    for item in ir.ArrayAttr(function.attributes["grad.redone"]):
        if isinstance(item, ir.FlatSymbolRefAttr):
            arrays.add(item.value)
        else:
            arrays.add(graph.values[graph.body.arguments[ir.IntegerAttr(item).value]])
    return frozenset(arrays)
