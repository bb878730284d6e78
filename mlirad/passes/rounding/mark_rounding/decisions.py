"""Decisions that a program makes by its floats, and the values that these depend on."""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import AtomicKind, atomic_kind, is_atomic, is_write
from mlirad.dialect.grad import CustomOp
from mlirad.ir.graph import Graph, Node
from mlirad.ir.marks.rounding import CHOICES
from mlirad.ir.pure_operations import is_arithmetic
from mlirad.ir.walk import Array

_CHOOSE = CHOICES | {CustomOp.OPERATION_NAME}


class Decisions:
    """`values` are the floats that decisions are made of, `arrays` those that they are loaded
    from, unless memory is settled."""

    def __init__(self, graph: Graph, *, is_settled: bool = False) -> None:
        self.graph, self.is_settled = graph, is_settled
        self.values: set[int] = set()
        self.arrays: set[Array] = set()
        self._find()

    def _find(self) -> None:
        """The floats that decisions are made of, and the arrays that they are loaded from."""
        nodes = list(self.graph.nodes())
        for node in nodes:
            if self.decides(node):
                self._decide(node.operands)
        size = -1
        while size < len(self.values) + len(self.arrays):
            size = len(self.values) + len(self.arrays)
            for node in reversed(nodes):
                self._follow(node)

    def _decide(self, values: list[int]) -> None:
        self.values.update(v for v in values if self.graph.floats[v])

    def decides(self, node: Node) -> bool:
        """Return whether what a node gives jumps where its floats pass some value."""
        if is_atomic(node):
            return atomic_kind(node.op) in (AtomicKind.MIN, AtomicKind.MAX)
        if node.name in _CHOOSE:
            return True
        return (
            is_arithmetic(node)
            and any(self.graph.floats[v] for v in node.operands)
            and not any(self.graph.floats[v] for v in node.results)
        )

    def _follow(self, node: Node) -> None:
        if is_write(node) and self.array(node) in self.arrays:
            self._decide(node.operands[:1])
        if node.is_passage:
            for source, targets in node.edges:
                if not self.values.isdisjoint(targets):
                    self._decide([source])
        elif not self.values.isdisjoint(node.results):
            if node.is_access:
                if not self.is_settled:
                    self.arrays.add(self.array(node))
            else:
                self._decide(node.operands)

    def array(self, node: Node) -> Array:
        """Return a key that distinguishes arrays; two arguments may be the same array."""
        if isinstance(node.array, ir.BlockArgument):
            return "arguments", 0
        return node.array
