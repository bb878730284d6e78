"""Refuse kernels to differentiate whose parallel iterations feed one another, or overwrite each other's results.

Only what is certain is refused: accesses that run in every iteration, whose affine indices show that different
iterations meet in one element, where a derivative passes. A loop whose length is not known while compiling is taken to
be long enough for that. The kernel itself gives then what the order of iterations makes it give, and a gradient would
be that of another order.
"""
from __future__ import annotations

from typing import NoReturn

from mlirad.bindings import ir
from mlirad.errors import TaichiCompilationError, located
from mlirad.passes._activity import Activity
from mlirad.passes._graph import Graph, Node
from mlirad.passes._location import source_location
from mlirad.passes._overwrite import Overwrites
from mlirad.passes._remarks import shown_array
from mlirad.passes._walk import constant_integer, functions

_CURE = "put ti.loop_config(serialize=True) before the loop"


def check_races(module: ir.Operation) -> None:
    """Refuse parallel loops that certainly pass derivatives between their iterations."""
    for function in functions(module):
        if "sym_visibility" not in function.attributes:
            graph = Graph(function)
            check = _Check(graph, Activity(module, function, graph))
            for loop in graph.nodes():
                if loop.name == "scf.parallel":
                    check.loop(loop)


class _Check:
    def __init__(self, graph: Graph, activity: Activity) -> None:
        self.graph, self.activity = graph, activity
        self.overwrites = Overwrites(graph)

    def loop(self, loop: Node) -> None:
        """Refuse a loop in which a load or a store meets a store, or a load an atomic, of another iteration."""
        certain = [node for node in loop.walk() if node.array is not None and self._is_certain(node, loop)]
        writes = [node for node in certain if node.name != "field.load"]
        for node in certain:
            for write in writes:
                if node.array == write.array and self.overwrites.meeting(node, write) == "another":
                    self._judge(node, write)

    def _judge(self, node: Node, write: Node) -> None:
        if node.name == "field.load":
            if node.results[0] in self.activity.active:
                _refuse(node, write, "is read here and written by another iteration of the same parallel loop")
        elif node.name == "field.store" and self.activity.is_differentiable(node) and \
                any(w.operands[0] in self.activity.varied for w in (node, write)):
            _refuse(node, write, "is written here without an atomic, and by another iteration of the same parallel "
                                 "loop as well")

    def _is_certain(self, node: Node, loop: Node) -> bool:
        """Whether an access to memory that iterations share runs in every iteration."""
        value = self.graph.values[node.array_value]
        if not isinstance(value, ir.BlockArgument) and value.owner.operation.name == "field.alloca" and \
                self.graph.depth_of(node.array_value) > loop.block.depth:
            return False
        owner = node.block.owner
        while owner is not None and owner is not loop:
            if owner.name != "scf.for" or not _has_trips(owner):
                return False
            owner = owner.block.owner
        return True


def _has_trips(loop: Node) -> bool:
    low, high = (constant_integer(loop.op.operands[k]) for k in (0, 1))
    return low is not None and high is not None and low < high


def _refuse(node: Node, write: Node, reason: str) -> NoReturn:
    message = f"{shown_array(node.array)} {reason}, so its gradient is not defined: {_CURE}"
    known = [place for one in (node, write) if (place := source_location(one.op.location)) is not None]
    if len(known) == 2 and known[0] == known[1]:
        known.pop()
    if not known:
        raise TaichiCompilationError(message)
    error = TaichiCompilationError(located(message, *known))
    error.reason, error.source = message, known[0]
    raise error
