"""The common state of the parts of a reverse sweep: the function, and the adjoints of its
values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.derivatives.needed import NeededValues
from mlirad.analysis.finite import Finiteness
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.walk import Array
from mlirad.sweeps.recompute import Environment, Recompute

Adjoints = dict[int, ir.Value]


class AdjointSweep(ABC):
    """The reverse of the blocks of a function. Adjoints of scalars are values, those of arrays live
    in `arrays`.

    `infinite` are the arrays whose numbers may be infinite. Code that is differentiated `again`
    keeps its derivatives where an adjoint is 0.
    """

    def __init__(
        self,
        graph: Graph,
        activity: Activity,
        needed: NeededValues,
        recompute: Recompute,
        arrays: dict[Array, ir.Value],
        *,
        infinite: Collection[Array] = (),
        again: bool = False,
    ) -> None:
        self.graph, self.activity, self.needed, self.recompute = graph, activity, needed, recompute
        self.arrays = arrays
        self.undo = recompute.undo
        self.finiteness, self.again = Finiteness(graph, infinite), again

    @abstractmethod
    def block(self, block: BlockNode, env: Environment, adj: Adjoints) -> None:
        """Emit the reverse of a block whose needed values are at hand."""

    def add(self, adj: Adjoints, value: int, term: ir.Value) -> None:
        """Add to the adjoint of a value."""
        old = adj.get(value)
        adj[value] = term if old is None else b.plus(old, term)

    def zero(self, value: int) -> ir.Value:
        """A zero of the type of a value."""
        return b.number(0.0, self.graph.values[value].type)

    def or_zero(self, adjoint: ir.Value | None, value: int) -> ir.Value:
        """An adjoint, or a zero of the type of its value."""
        return self.zero(value) if adjoint is None else adjoint

    def seed(
        self, adj: Adjoints, values: Sequence[int], adjoints: Sequence[ir.Value | None]
    ) -> None:
        """Add to the adjoints of those values that carry a derivative."""
        for value, adjoint in zip(values, adjoints):
            if adjoint is not None and value in self.activity.active:
                self.add(adj, value, adjoint)

    def adjoint_of(self, adj: Adjoints, value: int) -> ir.Value:
        """The adjoint of a value, zero where there is none."""
        return adj[value] if value in adj else self.zero(value)

    def pop_results(self, node: Node, adj: Adjoints) -> list[ir.Value | None]:
        """Take the adjoints of the results of a node."""
        return [adj.pop(v, None) for v in node.results]
