"""The operations that the reverse of a function has to reverse."""

from __future__ import annotations

from mlirad.analysis.derivatives.activity import Activity, stack_of
from mlirad.dialect.field import is_write
from mlirad.dialect.grad import PushOp
from mlirad.ir.graph import BlockNode, Graph, Node


def find_work(graph: Graph, activity: Activity) -> set[Node]:
    """Return the nodes that adjoints pass through, and the loops and branches that hold one."""
    work: set[Node] = set()
    _find_in(graph.body, activity, work)
    return work


def _find_in(block: BlockNode, activity: Activity, work: set[Node]) -> bool:
    for node in block.nodes:
        inside = [_find_in(inner, activity, work) for inner in node.blocks]
        if _is_work(node, activity) or any(inside):
            work.add(node)
    return any(node in work for node in block.nodes)


def _is_work(node: Node, activity: Activity) -> bool:
    if is_write(node):
        return activity.is_differentiable(node)
    if PushOp.holds(node):
        return activity.is_active_local(stack_of(node))
    return not activity.active.isdisjoint(node.results)
