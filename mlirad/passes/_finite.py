"""Where a derivative may be infinite or NaN, so that an adjoint of 0 has to stay 0 by a test and not by a product.

A value that no branch takes has the adjoint 0. So has a value that the loss does not use. What it is made of has the
adjoint 0 too, also where the derivative is infinite: `select(x > 0, sqrt(x), 0)` at x = 0. Numbers in memory count as
finite.
"""
from __future__ import annotations

from mlirad.bindings import ir
from mlirad.passes._activity import flows
from mlirad.passes._graph import BlockNode, Graph, Node
from mlirad.passes._rules import RULES, primal_reads
from mlirad.passes._terms import Apply, Choose, Operand, Term, Where

_POLES = frozenset({"arith.divf", "arith.remf", "math.log", "math.sqrt", "math.rsqrt", "math.powf", "math.asin",
                    "math.acos", "math.tan", "math.exp"})


class Finiteness:
    """Answers for the values and rules of one function."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.unbounded: set[int] = set()
        while self._spread(graph.body):
            pass

    def _spread(self, block: BlockNode) -> bool:
        changed = False
        for node in block.nodes:
            for inner in node.blocks:
                changed |= self._spread(inner)
            if node.blocks:
                for source, targets in flows(node):
                    if source in self.unbounded:
                        changed |= self._mark(targets)
            elif self._has_pole(node) or any(v in self.unbounded for v in node.operands):
                changed |= self._mark(node.results)
        return changed

    def _mark(self, values: list[int]) -> bool:
        new = [v for v in values if self.graph.floats[v] and v not in self.unbounded]
        self.unbounded.update(new)
        return bool(new)

    def _has_pole(self, node: Node) -> bool:
        if node.name == "arith.divf":
            return not self._is_nonzero(node.operands[1])
        return node.name in _POLES

    def _is_nonzero(self, value: int) -> bool:
        node = self.graph.defined[value]
        return isinstance(node, Node) and node.name == "arith.constant" and ir.FloatAttr(
            node.op.attributes["value"]).value != 0.0

    def may_be_infinite(self, node: Node, position: int) -> bool:
        """Whether the derivative of an op in one operand may be infinite or NaN."""
        term = RULES[node.name][position]
        assert term is not None
        reads, reads_result = primal_reads(node.name, position)
        if any(node.operands[read] in self.unbounded for read in reads):
            return True
        if reads_result and node.results[0] in self.unbounded:
            return True
        return self._divides(node, term)

    def _divides(self, node: Node, term: Term) -> bool:
        if isinstance(term, Where):
            return any(self._divides(node, part) for part in (term.left, term.right, term.then, term.otherwise))
        if isinstance(term, Choose):
            return self._divides(node, term.then) or self._divides(node, term.otherwise)
        if not isinstance(term, Apply):
            return False
        if any(self._divides(node, argument) for argument in term.arguments):
            return True
        if term.name != "arith.divf":
            return term.name in _POLES
        divisor = term.arguments[1]
        return not (isinstance(divisor, Operand) and self._is_nonzero(node.operands[divisor.position]))
