"""Launches that would be run again together, as their results are kept no more: the neighborhoods
of dynamic tensor rematerialization, kept as disjoint sets (Kirisame et al., Dynamic Tensor
Rematerialization, ICLR 2021, appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterable

from mlirad.ad.budget.graph import ROOT, Content, Graph


class Components:
    """The sets, each with what its launches cost."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.front = 0  # launches from here on are not run again
        self._node: dict[int, int] = {}  # of a launch, since it ran last
        self._parent: list[int] = []
        self._cost: list[float] = []

    def _set_of(self, step: int) -> int:
        node, parent = self._node.get(step), self._parent
        if node is None:
            node = self._node[step] = len(parent)
            parent.append(node)
            self._cost.append(self.graph.steps[step].cost)
            return node
        above = parent[node]
        while above != node:
            parent[node] = parent[above]
            node = parent[node]
            above = parent[node]
        return node

    def forget(self, content: Content) -> None:
        """Forget a content that is kept no more: who made it runs again with who reads it."""
        sets = self._around(content)
        first = next(iter(sets), None)
        for other in sets:
            if first is not None and other != first:
                self._parent[other] = first
                self._cost[first] += self._cost[other]

    def renew(self, steps: Iterable[int]) -> None:
        """Note launches that run again: what they made is there."""
        for step in steps:
            if step in self._node:
                self._cost[self._set_of(step)] -= self.graph.steps[step].cost
                del self._node[step]

    def cost(self, content: Content) -> float:
        """Return what would run again, at most, if a content were missing."""
        cost, maker, readers = self._cost, content[1], self.graph.readers.get(content, ())
        if len(readers) > 1 or maker == ROOT:
            return sum([cost[node] for node in self._around(content)])
        first = self._set_of(maker)
        if readers and readers[0] < self.front and (other := self._set_of(readers[0])) != first:
            return cost[first] + cost[other]
        return cost[first]

    def _around(self, content: Content) -> dict[int, None]:
        maker, front = content[1], self.front
        nodes: dict[int, None] = {} if maker == ROOT else {self._set_of(maker): None}
        for reader in self.graph.readers.get(content, ()):
            if reader >= front:
                break
            nodes[self._set_of(reader)] = None
        return nodes
