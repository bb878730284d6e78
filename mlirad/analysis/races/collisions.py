"""Accesses of a parallel loop of which analysis cannot exclude that different iterations meet in
one element.

Only those matter by which a derivative would become wrong: a load that carries one, or that the
reverse does again, and a write; writes to an array with a derivative, unless both are constants or
sums; writes that the reverse does again.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mlirad.analysis.derivatives.activity import Activity, activity_of
from mlirad.analysis.derivatives.needed import NeededValues, needed_of
from mlirad.analysis.derivatives.redone import redone_arrays
from mlirad.analysis.races.deactivations import Deactivations
from mlirad.analysis.races.overwrite import Neighbours, overwrites_of
from mlirad.analysis.races.slice import Slice
from mlirad.bindings import ir
from mlirad.dialect.field import (
    AllocaOp,
    AtomicKind,
    atomic_kind,
    is_atomic,
    is_load,
    is_write,
    replaces,
)
from mlirad.ir.graph import Graph, Node
from mlirad.ir.structured import is_parallel
from mlirad.ir.walk import Array


class Pair(msgspec.Struct, frozen=True):
    """Two accesses, of which `write` is a store or an atomic; they may be one."""

    node: Node
    write: Node
    loop: Node


class Collisions:
    """Answers for the parallel loops of one function."""

    def __init__(self, graph: Graph, activity: Activity) -> None:
        self.graph, self.activity = graph, activity
        self.overwrites, self.deactivations = overwrites_of(graph), Deactivations()
        self._apart: dict[tuple[Node, Node], bool] = {}
        self._shared = [(loop, self._accesses(loop)) for loop in graph.nodes() if is_parallel(loop)]

    def pairs(self, needed: NeededValues | None) -> Iterator[Pair]:
        """Yield the pairs of accesses that are not proved apart and that matter to the tangents or,
        if these are `needed`, to the reverse."""
        for pair in self._that_matter(needed):
            if not self.are_apart(pair.node, pair.write, pair.loop):
                yield pair

    def _that_matter(self, needed: NeededValues | None) -> Iterator[Pair]:
        values: set[int] = set() if needed is None else {value for value, _ in needed.keys}
        redone: set[Node] = set() if needed is None else needed.redone
        for loop, groups in self._shared:
            if needed is None and self._runs_in_order(loop):
                continue
            for group in groups:
                for node, write in self._with_writes(group, values, redone):
                    if self._matters(node, write, values, redone) and not self.deactivations.agree(
                        node, write
                    ):
                        yield Pair(node, write, loop)

    def read(self, needed: NeededValues) -> set[int]:
        """The values from which a check of all pairs, before the reverse, computes where their
        accesses go."""
        nodes: set[Node] = set()
        for pair in self._that_matter(needed):
            ends = {pair.node, pair.write}
            if not ends <= nodes and not self.are_apart(pair.node, pair.write, pair.loop):
                nodes |= ends
        return Slice(self.graph, nodes, needed.arrays | self.activity.cells).values

    def are_apart(self, node: Node, other: Node, loop: Node) -> bool:
        """Return whether different iterations are certain not to meet in two accesses to one
        array."""
        if (node, other) not in self._apart:
            self._apart[node, other] = self.overwrites.are_apart(node, other, loop)
        return self._apart[node, other]

    def _accesses(self, loop: Node) -> list[Neighbours]:
        """The accesses to each array that iterations share and write to."""
        accesses: dict[Array, list[Node]] = {}
        for node in loop.walk():
            if node.is_access and is_shared(self.graph, node, loop):
                accesses.setdefault(node.array, []).append(node)
        return [
            Neighbours(self.overwrites, group)
            for group in accesses.values()
            if any(not is_load(node) for node in group)
        ]

    def _runs_in_order(self, loop: Node) -> bool:
        """Return whether forward mode makes a loop serial: where iterations race for which of them
        supplies an element."""
        return any(
            is_atomic(node)
            and _kind(node) != AtomicKind.ADD
            and self.activity.is_differentiable(node)
            for node in loop.walk()
        )

    def _with_writes(
        self, group: Neighbours, needed: set[int], redone: set[Node]
    ) -> Iterator[tuple[Node, Node]]:
        """The accesses to an array with the writes to it that they may meet, and with themselves;
        no pair twice, and none of which both only add."""
        place = {node: number for number, node in enumerate(group.nodes)}
        adding = {node for node in group.nodes if self._only_adds(node, needed, redone)}
        neighbours = Neighbours(
            self.overwrites, [node for node in group.nodes if node not in adding]
        )
        for write in group.nodes:
            if not is_load(write):
                near = (neighbours if write in adding else group).near(write)
                yield from ((node, write) for node in near if place[node] <= place[write])
                yield from (
                    (node, write) for node in near if place[node] > place[write] and is_load(node)
                )

    def _only_adds(self, node: Node, needed: set[int], redone: set[Node]) -> bool:
        """Return whether it does not matter that an access meets another one of which this is
        so."""
        return (
            is_atomic(node)
            and _kind(node) == AtomicKind.ADD
            and node not in redone
            and not any(v in self.activity.active or v in needed for v in node.results)
        )

    def _matters(self, node: Node, write: Node, needed: set[int], redone: set[Node]) -> bool:
        if any(
            value in self.activity.active or value in needed
            for access in (node, write)
            for value in access.results
        ):
            return True
        if is_load(node):
            return False
        if node in redone or write in redone:
            return True
        if not self.activity.is_differentiable(node):
            return False
        kinds = {_kind(access) for access in (node, write)}
        if "store" in kinds:
            return any(access.operands[0] in self.activity.varied for access in (node, write))
        return len(kinds) > 1 or kinds == {AtomicKind.MUL}


class Open(msgspec.Struct, frozen=True):
    """The pairs that a function leaves open, found one by one, and the arrays that a check reads as
    the function's own writes leave them."""

    collisions: Collisions
    pairs: Iterator[Pair]
    done: frozenset[Array]


def collisions_of(activity: Activity) -> Collisions:
    """Return the collisions of a function, which passes that only set marks share."""
    graph = activity.graph
    return graph.fact((Collisions, activity), lambda: Collisions(graph, activity))


def find_open(module: ir.Operation, function: ir.Operation, *, tangents: bool) -> Open:
    """The pairs of a function that are not proven, for its reverse at memory as that finds it, or
    for its tangents at memory as it was before."""
    activity = activity_of(module, function, with_duals=tangents)
    graph = activity.graph
    collisions = collisions_of(activity)
    if tangents:
        written = {node.array for node in graph.nodes() if is_write(node)}
        return Open(collisions, collisions.pairs(None), frozenset(written | activity.cells))
    needed = needed_of(activity, redone_arrays(function, graph))
    return Open(collisions, collisions.pairs(needed), needed.arrays | activity.cells)


def is_shared(graph: Graph, node: Node, loop: Node) -> bool:
    """Return whether iterations of a parallel loop share the memory of an access."""
    value = graph.values[node.array_value]
    return (
        isinstance(value, ir.BlockArgument)
        or not AllocaOp.holds(value.owner.operation)
        or graph.depth_of(node.array_value) <= loop.block.depth
    )


def _kind(node: Node) -> str:
    return "store" if replaces(node.op) else atomic_kind(node.op)
