"""Mark how each float op of a program rounds, once for all its modes.

Assumes that locals are values, and that nothing is differentiated yet. A decision (a comparison, a
cast to an integer, a choice of min or max, floor and its kin) comes out the same in the primal, its
reverse and its tangents only if what it is made of is the same to the last bit. So what feeds
decisions is exact, through memory that the function writes too, unless the function says that what
it writes is settled. Elsewhere a product with what a
loop carries is fused into the sum that alone uses it, and a sum over a loop may be taken in any
order, of terms that are estimates. Other values, those stored in fields above all, are the same to
the last bit in every mode. Derivatives, which come later, are marked as such: `insert-fast-math`
may do with them as it likes.
"""

from __future__ import annotations

from mlirad.bindings import ir
from mlirad.dialect.field import is_atomic
from mlirad.dialect.grad import CustomOp
from mlirad.ir.custom import PRIMAL
from mlirad.ir.graph import BlockNode, Graph, Node, graph_of
from mlirad.ir.marks.rounding import (
    DECISION,
    EXACT,
    FUSED,
    LANES,
    LOOSE,
    SETTLED,
    is_marked,
    mark_unmarked,
    rounds,
)
from mlirad.ir.ops import Arith
from mlirad.ir.requirements import KERNELS, is_private
from mlirad.ir.structured import is_serial_loop
from mlirad.ir.walk import functions
from mlirad.passes.rounding.mark_rounding.decisions import Decisions
from mlirad.passes.rounding.mark_rounding.loop_sums import Sums

REQUIRES = KERNELS
ONLY_MARKS = True

_FUSED_TYPES = ("f32", "f64")


def mark_rounding(module: ir.Operation) -> None:
    """Mark each float op as exact, as a product that is fused into a sum, or as loose, and mark
    decisions, whose inputs are exact."""
    for function in functions(module):
        if not is_private(function):
            _Marking(graph_of(function), is_settled=SETTLED in function.attributes).run()


class _Marking:
    def __init__(self, graph: Graph, *, is_settled: bool) -> None:
        self.graph = graph
        self.decisions = Decisions(graph, is_settled=is_settled)
        self.sums = Sums(graph, self.decisions)
        self.lanes: set[Node] = set()

    def run(self) -> None:
        """Set the marks."""
        loose = self.sums.loose()
        self.lanes = self.sums.lanes()
        products = self._products(loose)
        unit = ir.UnitAttr.get()
        for node in self.graph.nodes():
            if self.decisions.decides(node):
                node.op.attributes[DECISION] = unit
            if is_marked(node.op):
                continue
            if is_atomic(node) and self.graph.floats[node.results[0]]:
                node.op.attributes[LOOSE if node in loose else EXACT] = unit
            elif CustomOp.holds(node):
                mark_unmarked(node.op.regions[PRIMAL], EXACT)
            elif rounds(node.op):
                node.op.attributes[
                    LOOSE if node in loose else FUSED if node in products else EXACT
                ] = unit
                if node in self.lanes:
                    node.op.attributes[LANES] = unit

    def _products(self, loose: set[Node]) -> set[Node]:
        """The products that become one op with the sum that alone uses them, at most one for a sum:
        those that wait for the iteration before, or are a term of a sum in lanes. Elsewhere the
        time is not worth another rounding."""
        merged = set()
        for node in self.graph.nodes():
            if (
                node.name in (Arith.ADDF, Arith.SUBF)
                and node not in loose
                and (node.results[0] not in self.decisions.values or node in self.lanes)
                and str(node.op.results[0].type) in _FUSED_TYPES
            ):
                products = [
                    p for v in node.operands if (p := self._product_of(v, node)) is not None
                ]
                merged.update(
                    [p for p in products if node in self.lanes or self._is_carried(p)][-1:]
                )
        return merged

    def _product_of(self, value: int, user: Node) -> Node | None:
        """The product that a value is, if it is used here alone."""
        product = self.graph.defined[value]
        if (
            isinstance(product, BlockNode)
            or product.name != Arith.MULF
            or product.block is not user.block
        ):
            return None
        alone = self.sums.users[value] == [user] and user.operands.count(value) == 1
        return (
            product
            if alone and (value not in self.decisions.values or user in self.lanes)
            else None
        )

    def _is_carried(self, product: Node) -> bool:
        """Return whether a product waits for the iteration before."""
        blocks = [
            definition
            for v in product.operands
            if isinstance(definition := self.graph.defined[v], BlockNode)
        ]
        return any(block.owner is not None and is_serial_loop(block.owner) for block in blocks)
