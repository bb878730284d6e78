"""Stacks that an earlier reverse keeps, as far as they can be reversed: they are filled first, and
then read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from mlirad.analysis.derivatives.activity import stack_of
from mlirad.dialect.grad import AllocOp, FreeOp, OpenOp, PopOp, PushOp
from mlirad.errors import TaichiCompilationError
from mlirad.ir.graph import Graph, Node
from mlirad.ir.reports.location import nearest_location


class Stack(msgspec.Struct, frozen=True):
    """The ops that create a stack, fill it and free it; `around` are the loops and branches in
    which it is filled, inside of the block that creates it."""

    allocation: Node
    pushes: Sequence[Node]
    frees: Sequence[Node]
    around: Sequence[Node]


def stacks(graph: Graph) -> dict[int, Stack]:
    """The stacks of a function. Raises TaichiCompilationError for those that are written to again,
    and for logs."""
    used: dict[int, list[Node]] = {}
    for node in graph.nodes():
        if OpenOp.holds(node):
            _refuse(node, "this reverse puts memory back by a log, and has no reverse itself")
        if AllocOp.holds(node):
            used.setdefault(node.results[0], [])
        if PushOp.holds(node) or PopOp.holds(node) or FreeOp.holds(node):
            used.setdefault(stack_of(node)[1], []).append(node)
    return {stack: _stack(graph, stack, nodes) for stack, nodes in used.items()}


def _stack(graph: Graph, stack: int, nodes: list[Node]) -> Stack:
    allocation = graph.defined[stack]
    if not isinstance(allocation, Node) or not AllocOp.holds(allocation):
        _refuse(nodes[0], "a stack that no 'grad.alloc' of this function makes")
    depth = allocation.block.depth
    pushes = [node for node in nodes if PushOp.holds(node)]
    frees = [node for node in nodes if FreeOp.holds(node)]
    read = [node.order[depth] for node in nodes if PopOp.holds(node)]
    for node in pushes:
        if node.order[depth] >= min(read, default=node.order[depth] + 1):
            _refuse(node, "a stack is written to that was read: its reverse has no reverse itself")
    for node in frees:
        if node.block is not allocation.block:
            _refuse(node, "a stack is freed in another block than it is made in")
    around = {owner for push in pushes for owner in push.owners if owner.block.depth >= depth}
    return Stack(allocation, pushes, frees, tuple(around))


def _refuse(node: Node, message: str) -> NoReturn:
    raise TaichiCompilationError(message, nearest_location(node.op))
