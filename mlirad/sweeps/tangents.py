"""The common state of the parts of a forward sweep: the function, its new values and their
tangents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mlirad.analysis.derivatives.activity import Activity
from mlirad.analysis.finite import Finiteness
from mlirad.bindings import ir
from mlirad.ir import build as b
from mlirad.ir.graph import BlockNode, Graph, Node
from mlirad.ir.walk import Array
from mlirad.sweeps.recompute import Environment

Tangents = list[ir.Value]


class TangentSweep(ABC):
    """Emits the ops of blocks with `count` tangents. `arrays` are the arrays of tangents, `env` the
    new values.

    `tangents` has those of the values that carry a derivative; a value that is missing there has
    the tangent 0. Code that is differentiated `again` keeps its derivatives where a tangent is 0.
    """

    def __init__(
        self, graph: Graph, activity: Activity, count: int, env: Environment, *, again: bool = False
    ) -> None:
        self.graph, self.activity, self.count, self.env = graph, activity, count, env
        self.tangents: dict[int, Tangents] = {}
        self.arrays: dict[Array, Tangents] = {}
        self.finiteness, self.again = Finiteness(graph), again

    @abstractmethod
    def block(self, block: BlockNode) -> None:
        """Emit what stands in front of a block's terminator."""

    def tangents_of(self, value: int) -> Tangents:
        """The tangents of a value, zeros where it carries no derivative."""
        tangents = self.tangents.get(value)
        if tangents is None:
            zero = b.number(0.0, self.graph.values[value].type)
            return [zero] * self.count
        return tangents

    def values(self, numbers: Sequence[int]) -> list[ir.Value]:
        """The new values of some."""
        return [self.env[v] for v in numbers]

    def active(self, numbers: Sequence[int]) -> list[int]:
        """The values, of some, that carry a derivative."""
        return [v for v in numbers if v in self.activity.active]

    def all_of(self, numbers: Sequence[int]) -> list[ir.Value]:
        """The tangents of some values, one value behind the other."""
        return [tangent for v in numbers for tangent in self.tangents_of(v)]

    def types(self, numbers: Sequence[int]) -> list[ir.Type]:
        """The types of these tangents."""
        return [self.graph.values[v].type for v in numbers for _ in range(self.count)]

    def bind(self, numbers: Sequence[int], new: Sequence[ir.Value], active: Sequence[int]) -> None:
        """Take values and, behind them, the tangents of those that carry a derivative."""
        self.env.update(zip(numbers, new))
        tangents = list(new)[len(numbers) :]
        for k, value in enumerate(active):
            self.tangents[value] = tangents[k * self.count : (k + 1) * self.count]

    def clone(self, node: Node) -> ir.Operation:
        """The op itself, on the new values."""
        copy: ir.Operation = node.op.clone()
        for position, operand in enumerate(node.operands):
            copy.operands[position] = self.env[operand]
        self.env.update(zip(node.results, copy.results))
        return copy
