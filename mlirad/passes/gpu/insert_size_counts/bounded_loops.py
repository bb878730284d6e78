"""While loops that a counter ends at the latest, for `insert-size-counts`: a range with `break`."""

from __future__ import annotations

from mlirad.ir import build as b
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.ops import Arith
from mlirad.ir.walk import constant_integer


def bounding_condition(graph: Graph, loop: Node) -> int | None:
    """Return what alone ends a loop: that a number that grows in each iteration is below one from
    outside; None if it is not among the conditions that all have to hold."""
    pending = [loop.flow.control[0]]
    while pending:
        value = pending.pop()
        node = graph.defined[value]
        if not isinstance(node, Node):
            continue
        if node.name == Arith.ANDI:
            pending += node.operands
        elif node.name == Arith.CMPI and _is_below(graph, loop, node):
            return value
    return None


def _is_below(graph: Graph, loop: Node, test: Node) -> bool:
    counter, bound = test.operands
    if b.predicate_of(test.op) != b.SLT or _is_in(graph, loop, bound):
        return False
    return _grows(graph, loop, counter)


def _grows(graph: Graph, loop: Node, counter: int) -> bool:
    """Return whether a value that a loop carries is larger in the next iteration."""
    following = [value.following for value in loop.flow.carried if value.argument == counter]
    passed = [value.argument for value in loop.flow.passed if value.value == counter]
    step = graph.defined[following[0]] if following else None
    if not isinstance(step, Node) or step.name != Arith.ADDI:
        return False
    if step.operands[0] not in (counter, *passed):
        return False
    return (constant_integer(graph.values[step.operands[1]]) or 0) > 0


def _is_in(graph: Graph, loop: Node, value: int) -> bool:
    definition = graph.defined[value]
    node = definition.owner if isinstance(definition, BlockNode) else definition
    return node is not None and (node is loop or loop in node.owners)
