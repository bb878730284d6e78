"""From which arrays the floats that a kernel writes into an array come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlirad.analysis.derivatives.activity import is_stopped
from mlirad.analysis.rules.table import RULES
from mlirad.dialect.field import is_read, is_write
from mlirad.dialect.grad import CustomOp
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.walk import Array

MARKED: Array = ("marked", 0)  # among arrays: nobody reads or writes it


class ArrayFlows:
    """`into[array]` holds the arrays whose elements reach it differentiably, with the node that
    writes it first.

    Results of nodes that a test holds for count as coming from `MARKED`, too.
    """

    def __init__(
        self, graph: Graph, is_marked: Callable[[Node], bool] = lambda node: False
    ) -> None:
        self.graph, self.is_marked = graph, is_marked
        self.sources: dict[int, frozenset[Array]] = {}
        self.into: dict[Array, set[Array]] = {}
        self.writer: dict[Array, Node] = {}
        while self._spread(graph.body):
            pass

    def _spread(self, block: BlockNode) -> bool:
        changed = False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self._spread(inner)
            changed |= self._node(node)
        return changed

    def _node(self, node: Node) -> bool:
        changed = self.is_marked(node) and self._add(node.results, frozenset({MARKED}))
        if is_write(node):
            sources = self._sources_of(node.operands[0]) - self.into.setdefault(node.array, set())
            if sources:
                self.into[node.array] |= sources
                self.writer.setdefault(node.array, node)
                changed = True
        if is_read(node):
            if is_stopped(node):
                return changed
            return (
                self._add(node.results, frozenset({node.array, *self.into.get(node.array, ())}))
                or changed
            )
        if node.is_passage:
            for source, targets in node.edges:
                changed |= self._add(targets, self._sources_of(source))
            return changed
        terms = RULES.get(node.name, ())
        if len(terms) > terms.count(None) or CustomOp.holds(node):
            return self._add(node.results, self.arrays_of(node.operands)) or changed
        return changed

    def arrays_of(self, values: Sequence[int]) -> frozenset[Array]:
        """The arrays of whose floats some values are made."""
        return frozenset().union(*map(self._sources_of, values))

    def _sources_of(self, value: int) -> frozenset[Array]:
        return self.sources.get(value, frozenset())

    def _add(self, values: list[int], arrays: frozenset[Array]) -> bool:
        changed = False
        for value in values:
            if self.graph.floats[value] and not arrays <= self._sources_of(value):
                self.sources[value] = self._sources_of(value) | arrays
                changed = True
        return changed
