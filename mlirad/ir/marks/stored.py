"""Marks of stores whose values the reverse may load, if nothing has overwritten them."""

from mlirad.ir.graph import Graph, Node

STORED = "grad.stored"


def marked_stores(graph: Graph) -> dict[int, Node]:
    """The stores that `mark-footprints` has found, by their values."""
    return {node.operands[0]: node for node in graph.nodes() if STORED in node.op.attributes}
