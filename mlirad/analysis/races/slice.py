"""A slice of a function: the indices of some accesses, the conditions and loops around them, and
everything that these depend on."""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.dialect.field import is_write
from mlirad.dialect.grad import AllocOp, PushOp
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.walk import Array


class Slice:
    """`values` are computed, `loads` read, and `writes` done: all those to the arrays in `done`
    that are read."""

    def __init__(self, graph: Graph, accesses: Iterable[Node], done: frozenset[Array]) -> None:
        self.graph, self.done = graph, done
        self.values: set[int] = set()
        self.loads: set[Node] = set()
        self.writes: set[Node] = set()
        self._around: set[Node] = set()
        self._pending: list[int] = []
        for node in accesses:
            self._reach(node)
        while self._pending:
            self._compute(self._pending.pop())

    def _want(self, values: Iterable[int]) -> None:
        new = set(values) - self.values
        self.values |= new
        self._pending.extend(new)

    def _reach(self, node: Node) -> None:
        """Get to where a node runs, with its indices."""
        self._want(node.indices)
        for owner in node.owners:
            self._run(owner)

    def _run(self, node: Node) -> None:
        """Do what decides whether, and how often, the blocks of a node run."""
        if node in self._around:
            return
        self._around.add(node)
        self._want(node.flow.control)

    def _compute(self, value: int) -> None:
        definition = self.graph.defined[value]
        owner = definition.owner if isinstance(definition, BlockNode) else definition
        if owner is None:
            return
        if owner.blocks:
            self._run(owner)
            self._want(source for source, targets in owner.flow.edges if value in targets)
            return
        assert isinstance(definition, Node)
        self._want(definition.operands)
        if AllocOp.holds(definition):
            self._fill(definition)
        if definition.is_access:
            self.loads.add(definition)
            self._do_writes(definition.array)

    def _fill(self, alloc: Node) -> None:
        """Push what is on a stack."""
        for node in alloc.block.walk():
            if PushOp.holds(node) and node.operands[1] == alloc.results[0]:
                self._want(node.operands)
                for owner in node.owners:
                    self._run(owner)

    def _do_writes(self, array: Array) -> None:
        """Do the writes to an array that is read."""
        if array in self.done:
            for node in self.graph.nodes():
                if is_write(node) and node.array == array and node not in self.writes:
                    self.writes.add(node)
                    self._want(node.operands)
                    self._reach(node)
